//! The filters of kernel calls, and their form on the way to the helper.
//!
//! Three filters, put on one after the other. The first is the allow-list; whatever it does not
//! name answers "not permitted". The second answers "no such call" to calls that programs
//! must believe absent, so that they fall back: a C library told that `clone3` is not
//! permitted gives up, while one told that it does not exist uses `clone`, whose flags a
//! filter can see. The third answers "not supported here" to what a file system may lack.

mod calls;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, sock_filter,
};
use std::collections::{BTreeMap, BTreeSet};
use std::io;

/// `CLONE_NEW*`: a namespace of its own gives a process rights that the kernel's bugs live in.
const CLONE_NAMESPACES: u64 = 0x7e02_0000;

/// Kinds of `ioctl` that programs have use for, by the byte that names who answers: terminals
/// (and what every descriptor has), and sockets. File systems answer to others, some of which
/// tell where everybody's blocks lie.
const IOCTL_KINDS: [u64; 2] = [0x5400, 0x8900];
const IOCTL_KIND_MASK: u64 = 0xff00;

/// Of other kinds: `FICLONE`, `FICLONERANGE`, `FS_IOC_GETFLAGS`, `FS_IOC_SETFLAGS`.
const IOCTL_ALLOWED: [u64; 4] = [0x4004_9409, 0x4020_940d, 0x8008_6601, 0x4008_6602];

/// Ways to type into, or rewire, a terminal: `TIOCSTI`, `TIOCLINUX`, `TIOCCONS`, `TIOCSETD`.
const IOCTL_DENIED: [u64; 4] = [0x5412, 0x541c, 0x541d, 0x5423];

/// Bits that let whoever runs a file be its owner, outside of the sandbox too.
const SETS_ID: u64 = 0o6000;

/// Calls that give a file a mode, and the argument that has it.
const GIVES_MODE: &[(i64, u8)] = &[
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (calls::FCHMODAT2, 2),
    (libc::SYS_mknodat, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, 1),
];

/// Calls that may make a file, and the argument that has the flags; the mode follows.
const OPENS: &[(i64, u8)] = &[
    (libc::SYS_openat, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 1),
];

/// Flags with which a mode counts: `O_CREAT`, and what is `O_TMPFILE` besides `O_DIRECTORY`.
const MAKES_FILE: u64 = 0o100 | 0o20_000_000;

/// What `fallocate` does that takes up nothing.
const PUNCH_HOLE: u64 = 2;

/// What `fcntl` is not asked for: a lease makes whoever opens the file wait, the daemon too; a
/// note on a folder tells what others do in it; and what pipes hold is counted by user.
/// `F_SETLEASE`, `F_NOTIFY`, `F_SETPIPE_SZ`.
const FCNTL_DENIED: [u64; 3] = [1024, 1026, 1031];

/// Makes watches of files.
const WATCHING: &[i64] = &[
    libc::SYS_inotify_init1,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_inotify_init,
];

/// May pass descriptors, of which the kernel counts those on their way by user. Without a network
/// nothing else needs them.
const PASSING: &[i64] = &[libc::SYS_sendmsg, libc::SYS_sendmmsg];

/// What `personality` may be asked for: the plain one, and which one it is.
const PERSONALITIES: [u64; 2] = [0, 0xffff_ffff];

/// The low bits of a socket's type are the type; the others are flags.
const SOCKET_TYPE_MASK: u64 = 0xf;

// Instructions of the filter language, and what they can look at.
const LOAD: u16 = 0x20;
const JUMP_IF_EQUAL: u16 = 0x15;
const JUMP_IF_ABOVE: u16 = 0x25;
const JUMP_IF_AT_LEAST: u16 = 0x35;
const RETURN: u16 = 0x06;
const OFFSET_NUMBER: u32 = 0;
const OFFSET_ARCHITECTURE: u32 = 4;

/// Bytes of one instruction on the way.
const INSTRUCTION_BYTES: usize = 8;

/// What some processes may and others may not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Allowed {
    /// To make TCP sockets, which Landlock then binds to a port.
    pub(crate) proxy: bool,
    /// To watch files.
    pub(crate) watches: bool,
    /// To pass descriptors.
    pub(crate) passes: bool,
}

impl Allowed {
    /// None of it.
    pub(crate) const NOTHING_SPECIAL: Self = Self { proxy: false, watches: false, passes: false };

    /// Every kind of process there is.
    pub(crate) const ALL: [Self; 6] = {
        let none = Self::NOTHING_SPECIAL;
        let proxy = Self { proxy: true, passes: true, ..none };
        let passes = Self { passes: true, ..none };
        [
            none,
            passes,
            proxy,
            Self { watches: true, ..none },
            Self { watches: true, ..passes },
            Self { watches: true, ..proxy },
        ]
    };

    fn has(self, call: i64) -> bool {
        (self.watches || !WATCHING.contains(&call)) && (self.passes || !PASSING.contains(&call))
    }
}

/// The filters for a process, in the order to put them on.
pub(crate) struct Filters {
    pub(crate) programs: [BpfProgram; 3],
}

impl Filters {
    pub(crate) fn compile(may: Allowed) -> io::Result<Self> {
        let mut allowed = always(may)?;
        allowed.extend(filter(
            by_argument(may.proxy).map_err(io::Error::other)?,
            SeccompAction::Errno(libc::EPERM as u32),
            SeccompAction::Allow,
        )?);
        let absent = calls::ABSENT.iter().map(|&call| (call, vec![])).collect();
        let absent =
            filter(absent, SeccompAction::Allow, SeccompAction::Errno(libc::ENOSYS as u32))?;
        let unsupported = filter(
            unsupported().map_err(io::Error::other)?,
            SeccompAction::Allow,
            SeccompAction::Errno(libc::EOPNOTSUPP as u32),
        )?;
        Ok(Self { programs: [allowed, absent, unsupported] })
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![];
        for program in &self.programs {
            bytes.extend_from_slice(&(program.len() as u32).to_le_bytes());
            for instruction in program {
                bytes.extend_from_slice(&instruction.code.to_le_bytes());
                bytes.extend_from_slice(&[instruction.jt, instruction.jf]);
                bytes.extend_from_slice(&instruction.k.to_le_bytes());
            }
        }
        bytes
    }

    pub(crate) fn from_bytes(mut bytes: &[u8]) -> Option<Self> {
        let mut programs = [vec![], vec![], vec![]];
        for program in &mut programs {
            let (length, rest) = bytes.split_first_chunk::<4>()?;
            let length = (u32::from_le_bytes(*length) as usize).checked_mul(INSTRUCTION_BYTES)?;
            let (own, rest) = rest.split_at_checked(length)?;
            bytes = rest;
            *program = own.chunks_exact(INSTRUCTION_BYTES).filter_map(instruction).collect();
        }
        Some(Self { programs })
    }
}

/// A filter more, for a child that has files in common with others: without watches, and where
/// `locks` are to be refused too, without those. Programs are told that there are none.
pub(crate) fn on_shared_files(locks: bool) -> io::Result<BpfProgram> {
    let mut refused: Rules = calls::WATCHES.iter().map(|&call| (call, vec![])).collect();
    let by_command = |commands: &[i32]| -> Compiled<Vec<SeccompRule>> {
        let of = |&command: &i32| rule(vec![condition(1, SeccompCmpOp::Eq, command as u64)?]);
        commands.iter().map(of).collect()
    };
    let mut commands = vec![libc::F_NOTIFY];
    if locks {
        refused.insert(libc::SYS_flock, vec![]);
        commands.extend(calls::LOCKS);
    }
    refused.insert(libc::SYS_fcntl, by_command(&commands).map_err(io::Error::other)?);
    filter(refused, SeccompAction::Allow, SeccompAction::Errno(libc::ENOSYS as u32))
}

fn instruction(bytes: &[u8]) -> Option<sock_filter> {
    let &[code_low, code_high, jt, jf, k0, k1, k2, k3] = bytes else { return None };
    let code = u16::from_le_bytes([code_low, code_high]);
    Some(sock_filter { code, jt, jf, k: u32::from_le_bytes([k0, k1, k2, k3]) })
}

fn architecture() -> io::Result<TargetArch> {
    TargetArch::try_from(std::env::consts::ARCH).map_err(io::Error::other)
}

fn filter(
    rules: BTreeMap<i64, Vec<SeccompRule>>,
    otherwise: SeccompAction,
    matched: SeccompAction,
) -> io::Result<BpfProgram> {
    let filter = SeccompFilter::new(rules, otherwise, matched, architecture()?);
    filter.and_then(BpfProgram::try_from).map_err(io::Error::other)
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;
type Compiled<T> = Result<T, seccompiler::BackendError>;

fn condition(argument: u8, op: SeccompCmpOp, value: u64) -> Compiled<SeccompCondition> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, op, value)
}

fn rule(conditions: Vec<SeccompCondition>) -> Compiled<SeccompRule> {
    SeccompRule::new(conditions)
}

/// The first part of the allow-list: calls that are allowed whatever their arguments, as ranges
/// of numbers; all else falls through to what follows. The kernel runs a new filter once for
/// every call it knows, so a program with one test for each call takes a millisecond to put on.
fn always(may: Allowed) -> io::Result<BpfProgram> {
    let architecture = match architecture()? {
        TargetArch::x86_64 => 0xc000_003e,
        TargetArch::aarch64 => 0xc000_00b7,
        TargetArch::riscv64 => return Err(io::Error::other("no list for this architecture")),
    };
    let step = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    let mut program = vec![
        step(LOAD, 0, 0, OFFSET_ARCHITECTURE),
        step(JUMP_IF_EQUAL, 1, 0, architecture),
        step(RETURN, 0, 0, SeccompAction::KillProcess.into()),
        step(LOAD, 0, 0, OFFSET_NUMBER),
    ];
    let calls: Vec<i64> = calls::ALLOWED.iter().copied().filter(|call| may.has(*call)).collect();
    for (first, last) in ranges(&calls) {
        program.push(step(JUMP_IF_AT_LEAST, 0, 2, first));
        program.push(step(JUMP_IF_ABOVE, 1, 0, last));
        program.push(step(RETURN, 0, 0, SeccompAction::Allow.into()));
    }
    Ok(program)
}

/// Numbers as ranges, both ends included.
fn ranges(numbers: &[i64]) -> Vec<(u32, u32)> {
    let numbers: BTreeSet<u32> = numbers.iter().filter_map(|&n| u32::try_from(n).ok()).collect();
    let mut ranges: Vec<(u32, u32)> = vec![];
    for number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    ranges
}

fn by_argument(proxy: bool) -> Compiled<Rules> {
    use SeccompCmpOp::{Eq, MaskedEq, Ne};
    let mut rules = Rules::new();

    let plain_clone = rule(vec![condition(0, MaskedEq(CLONE_NAMESPACES), 0)?])?;
    rules.insert(libc::SYS_clone, vec![plain_clone]);

    let mut ioctls = vec![];
    for kind in IOCTL_KINDS {
        let mut conditions = vec![condition(1, MaskedEq(IOCTL_KIND_MASK), kind)?];
        for request in IOCTL_DENIED {
            conditions.push(condition(1, Ne, request)?);
        }
        ioctls.push(rule(conditions)?);
    }
    for request in IOCTL_ALLOWED {
        ioctls.push(rule(vec![condition(1, Eq, request)?])?);
    }
    rules.insert(libc::SYS_ioctl, ioctls);

    for &(call, mode) in GIVES_MODE {
        rules.insert(call, vec![rule(vec![condition(mode, MaskedEq(SETS_ID), 0)?])?]);
    }
    for &(call, flags) in OPENS {
        let is_there = rule(vec![condition(flags, MaskedEq(MAKES_FILE), 0)?])?;
        let is_plain = rule(vec![condition(flags + 1, MaskedEq(SETS_ID), 0)?])?;
        rules.insert(call, vec![is_there, is_plain]);
    }

    // Of itself only: the process that counts for the daemon what all others take has their user.
    rules.insert(libc::SYS_prlimit64, vec![rule(vec![condition(0, Eq, 0)?])?]);
    let own = vec![condition(0, Eq, libc::PRIO_PROCESS as u64)?, condition(1, Eq, 0)?];
    rules.insert(libc::SYS_setpriority, vec![rule(own)?]);

    let denied: Compiled<Vec<_>> =
        FCNTL_DENIED.iter().map(|&command| condition(1, Ne, command)).collect();
    rules.insert(libc::SYS_fcntl, vec![rule(denied?)?]);

    // Pages that are merged with those of others take longer to write to, which tells of them.
    let other = rule(vec![
        condition(0, Ne, libc::PR_SET_DUMPABLE as u64)?,
        condition(0, Ne, libc::PR_SET_MEMORY_MERGE as u64)?,
    ])?;
    let open = rule(vec![condition(0, Eq, libc::PR_SET_DUMPABLE as u64)?, condition(1, Eq, 1)?])?;
    // Who closes itself can't be looked at, and what it holds would count for nobody.
    rules.insert(libc::SYS_prctl, vec![other, open]);

    let personalities: Compiled<Vec<_>> =
        PERSONALITIES.iter().map(|&value| rule(vec![condition(0, Eq, value)?])).collect();
    rules.insert(libc::SYS_personality, personalities?);

    // Unix sockets only in pairs: one that can be connected reaches whatever listens in a
    // granted folder, and no layer looks at such a path.
    let unix = condition(0, Eq, libc::AF_UNIX as u64)?;
    rules.insert(libc::SYS_socketpair, vec![rule(vec![unix])?]);

    if proxy {
        let mut sockets = vec![];
        for family in [libc::AF_INET, libc::AF_INET6] {
            for protocol in [0, libc::IPPROTO_TCP] {
                sockets.push(rule(vec![
                    condition(0, Eq, family as u64)?,
                    condition(1, MaskedEq(SOCKET_TYPE_MASK), libc::SOCK_STREAM as u64)?,
                    condition(2, Eq, protocol as u64)?,
                ])?);
            }
        }
        rules.insert(libc::SYS_socket, sockets);
        rules.insert(libc::SYS_connect, vec![]);
    }
    Ok(rules)
}

/// What is told to be a thing this file system does not do. Space that is taken without writing
/// is taken faster than anybody looks.
fn unsupported() -> Compiled<Rules> {
    let takes = rule(vec![condition(1, SeccompCmpOp::MaskedEq(PUNCH_HOLE), 0)?])?;
    Ok(Rules::from([(libc::SYS_fallocate, vec![takes])]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_survive_the_way_to_the_helper() {
        let all = Allowed { proxy: true, watches: true, passes: true };
        let filters = Filters::compile(all).unwrap();
        let back = Filters::from_bytes(&filters.to_bytes()).unwrap();
        assert_eq!(back.programs, filters.programs);
        assert!(Filters::from_bytes(b"\xff\xff\xff\xff").is_none());
    }

    #[test]
    fn numbers_in_a_row_are_one_range() {
        assert_eq!(ranges(&[5, 1, 2, 3, 9]), [(1, 3), (5, 5), (9, 9)]);
        assert_eq!(ranges(&[]), []);
    }

    #[test]
    fn the_allow_list_is_what_the_ranges_hold_and_no_more() {
        let held: Vec<i64> = ranges(calls::ALLOWED)
            .into_iter()
            .flat_map(|(first, last)| i64::from(first)..=i64::from(last))
            .collect();
        let listed: BTreeSet<i64> = calls::ALLOWED.iter().copied().collect();
        assert_eq!(held, listed.into_iter().collect::<Vec<_>>());
    }

    #[test]
    fn what_only_some_may_is_in_no_other_list() {
        for call in WATCHING.iter().chain(PASSING) {
            assert!(calls::ALLOWED.contains(call) && !Allowed::NOTHING_SPECIAL.has(*call));
        }
        assert!(!calls::ALLOWED.contains(&libc::SYS_fcntl));
        assert!(Allowed::NOTHING_SPECIAL.has(libc::SYS_read));
    }

    #[test]
    fn no_call_is_both_allowed_and_absent() {
        let both: Vec<_> =
            calls::ALLOWED.iter().filter(|call| calls::ABSENT.contains(call)).collect();
        assert!(both.is_empty(), "{both:?}");
    }
}
