//! Attempts to get out of a sandbox, as programs in Python. Who runs them says what they are
//! confined by: the sandbox alone, or an agent of the running daemon.
//!
//! An attempt prints `held` and exits with 0, or exits with [`GOT_THROUGH`]; anything else means
//! that it could not be made. What it aims at is named in `E`, which whoever runs it fills:
//!
//! | name | what |
//! | --- | --- |
//! | `WORKSPACE`, `SHARED` | folders that were granted, to write and to read |
//! | `OTHER`, `SECRET_FILE`, `UP`, `UP_FROM_SHARED` | a foreign folder and a file in it, the last two as a way from the workspace and from the shared folder |
//! | `CONFIG`, `MARKER` | a policy file, and a file in the host's `/tmp` |
//! | `TCP_PORT`, `UDP_PORT`, `ABSTRACT`, `SOCKET_BESIDE`, `SOCKET_WITHIN` | sockets of the host |
//! | `VICTIM`, `DAEMON` | process ids on the host |
//! | `GIVEN` | names of variables that the program was given |
//! | `FIRST_DESCRIPTOR` | the first descriptor that it was not given |
//! | `FILE_MB`, `TMP_MB` | limits of a file and of its `/tmp` |

/// The exit code of an attempt that got through.
pub const GOT_THROUGH: i32 = 42;

/// What every attempt begins with.
pub const PRELUDE: &str = include_str!("prelude.py");

/// Attempts that are none where an agent's program makes them, and why.
pub const NOT_FOR_AGENTS: [(&str, &str); 2] = [
    ("programs_in_tmp", "an agent may run what it puts into its own /tmp"),
    ("programs_in_tmp_by_the_loader", "an agent may run what it puts into its own /tmp"),
];

/// Of those that get through without walls, the ones that show nothing there: attempts that
/// change something, and those that need a descriptor or a right of root's, which no program of
/// an agent's is given even then; a confined process of another agent is another user's.
pub const NO_CONTROL: [&str; 18] = [
    "another_process_signalled",
    "device_made",
    "owner_changed",
    "environment_of_the_daemon",
    "environment_of_another",
    "environment_of_every_process",
    "priority_raised",
    "other_users_become",
    "icmp",
    "packets",
    "file_of_another_by_rename",
    "file_of_another_by_truncate",
    "folder_of_another_written",
    "policy_file_written",
    "shared_folder_written",
    "programs_in_tmp",
    "inherited_descriptors",
    "shared_file_chmod",
];

/// Attempts that an ordinary user has the rights for, where there are no walls.
pub const ORDINARY: [&str; 20] = [
    "file_of_another_by_path",
    "file_of_another_by_dotdot",
    "file_of_another_by_symlink",
    "file_of_another_by_relative_descriptor",
    "folder_of_another_listed",
    "policy_file_read",
    "root_by_proc_self_root",
    "shared_tmp",
    "environment_of_the_daemon",
    "processes_listed",
    "another_process_signalled",
    "the_daemon_signalled",
    "abstract_socket",
    "path_socket_beside",
    "datagram_socket_of_paths",
    "tcp_to_the_host",
    "udp_to_the_host",
    "tcp_bind",
    "netlink",
    "programs_in_memory",
];

/// Calls a macro with every attempt: groups of `name (also_unconfined): "program";`. Those marked
/// get through where there are no walls, and nothing but root's rights is needed for that.
#[macro_export]
macro_rules! attempts {
    ($each:ident) => {
        $each! {
            files {
                file_of_another_by_path (also_unconfined): "refused(lambda: open(E['SECRET_FILE']).read())";
                file_of_another_by_dotdot (also_unconfined): "refused(lambda: open(E['WORKSPACE'] + '/' + E['UP']).read())";
                file_of_another_by_symlink (also_unconfined): "os.symlink(E['SECRET_FILE'], 'link')\nrefused(lambda: open('link').read())";
                file_of_another_by_hard_link (also_unconfined): "refused(lambda: os.link(E['SECRET_FILE'], 'hard'))";
                file_of_another_by_rename (also_unconfined): "refused(lambda: os.rename(E['SECRET_FILE'], 'mine'))";
                file_of_another_by_relative_descriptor (also_unconfined): "folder = os.open('.', os.O_RDONLY)\nrefused(lambda: os.open(E['UP'], os.O_RDONLY, dir_fd=folder))";
                file_of_another_by_truncate (also_unconfined): "refused(lambda: os.truncate(E['MARKER'], 0))";
                folder_of_another_listed (also_unconfined): "refused(lambda: os.listdir(E['OTHER']))";
                folder_of_another_written (also_unconfined): "refused(lambda: open(E['OTHER'] + '/planted', 'w'))";
                folder_beside_made_stays_in_its_own_tmp: "os.mkdir(E['WORKSPACE'] + '/../made')\nheld()";
                policy_file_read (also_unconfined): "refused(lambda: open(E['CONFIG']).read())";
                policy_file_written (also_unconfined): "refused(lambda: open(E['CONFIG'], 'r+'))";
                root_by_proc_self_root (also_unconfined): "refused(lambda: open('/proc/self/root' + E['SECRET_FILE']).read())";
                root_by_proc_one_root: "refused(lambda: open('/proc/1/root' + E['SECRET_FILE']).read())";
                root_by_proc_self_cwd (also_unconfined): "refused(lambda: open('/proc/self/cwd/' + E['UP']).read())";
                passwords (also_unconfined): "refused(lambda: open('/etc/shadow').read())";
                homes (also_unconfined): "all_refused(lambda: os.listdir('/root'), lambda: os.listdir('/home'))";
                keys_of_the_host (also_unconfined): "all_refused(lambda: os.listdir('/root'), lambda: os.listdir('/etc/ssh'), lambda: os.listdir('/var'), lambda: os.listdir('/boot'))";
                shared_tmp (also_unconfined): "refused(lambda: os.stat(E['MARKER']))";
                shared_memory_files (also_unconfined): "refused(lambda: os.stat('/dev/shm') if os.stat('/dev/shm').st_dev != os.stat('/tmp').st_dev else open('/dev/shm/nothing'))";
                shared_folder_written (also_unconfined): "refused(lambda: open(E['SHARED'] + '/planted', 'w'))";
                shared_folder_by_dotdot (also_unconfined): "refused(lambda: open(E['SHARED'] + '/' + E['UP_FROM_SHARED']).read())";
                shared_folder_by_its_symlink (also_unconfined): "refused(lambda: open(E['SHARED'] + '/escape').read())";
                shared_folder_by_its_folder_symlink (also_unconfined): "refused(lambda: os.listdir(E['SHARED'] + '/escape-folder'))";
                shared_file_chmod (also_unconfined): "refused(lambda: os.chmod(E['SHARED'] + '/readable', 0o777))";
                system_written (also_unconfined): "import tempfile\nall_refused(*[lambda p=p: tempfile.TemporaryFile(dir=p) for p in ('/usr/bin', '/etc', '/usr/lib', '/')])";
                devices_opened (also_unconfined): "all_refused(*[lambda p=p: os.open(p, os.O_RDONLY) for p in ('/dev/mem', '/dev/kmsg', '/dev/vda', '/dev/sda', '/dev/fuse', '/dev/kvm', '/dev/net/tun', '/dev/ptmx', '/dev/console')])";
                terminals_opened: "all_refused(*[lambda p=p: os.open(p, os.O_RDWR) for p in ('/dev/tty', '/dev/ptmx', '/dev/pts/0', '/dev/tty0', '/dev/vcs')])";
                device_made (also_unconfined): "refused(lambda: os.mknod('device', 0o600 | stat.S_IFCHR, os.makedev(1, 3)))";
                pipe_left_for_the_daemon (also_unconfined): "refused(lambda: os.mkfifo('pipe'))";
                socket_left_for_the_daemon (also_unconfined): "all_refused(lambda: os.mknod('planted', 0o600 | stat.S_IFSOCK), lambda: socket.socket(socket.AF_UNIX).bind('planted'))";
                owner_changed (also_unconfined): "open('own', 'w').close()\nrefused(lambda: os.chown('own', 0, 0) or os.chown('own', 12345, 12345))";
                handles: "call('name_to_handle_at', -100, ctypes.c_char_p(b'/'), 0, 0, 0)\ncall('open_by_handle_at', 0, 0, 0)\nheld()";
                kernel_settings_written (also_unconfined): "all_refused(*[lambda p=p: open(p, 'r+') for p in ('/proc/sys/kernel/core_pattern', '/proc/sys/kernel/hostname', '/proc/sys/vm/drop_caches', '/proc/sysrq-trigger', '/proc/sys/kernel/modprobe')])";
                sys_read_or_written (also_unconfined): "all_refused(*[lambda p=p: os.listdir(p) for p in ('/sys', '/sys/kernel', '/sys/fs/cgroup', '/sys/class')])";
                cgroups_left (also_unconfined): "refused(lambda: open('/sys/fs/cgroup/memory/cgroup.procs', 'w') if os.path.isdir('/sys/fs/cgroup/memory') else open('/sys/fs/cgroup/cgroup.procs', 'w'))";
                run_sockets (also_unconfined): "refused(lambda: os.listdir('/run'))";
                machine_facts: "for p in ('kallsyms', 'keys', 'interrupts', 'diskstats', 'locks', 'timer_list', 'kcore', 'kmsg'):\n    try:\n        if open('/proc/' + p, 'rb').read(1): got(p)\n    except OSError as error: print(p, error)\nheld()";
                programs_in_tmp (also_unconfined): "open('/tmp/insula-test-program', 'w').write('#!/bin/sh\\nexit 0\\n')\nos.chmod('/tmp/insula-test-program', 0o755)\nrefused(lambda: subprocess.run(['/tmp/insula-test-program']))";
                programs_in_tmp_by_the_loader: "import shutil\nshutil.copy('/bin/true', '/tmp/true')\nloader = [l.split()[-1] for l in open('/proc/self/maps') if 'ld-linux' in l][0]\nheld() if subprocess.run([loader, '/tmp/true']).returncode else got()";
                programs_in_a_shared_folder: "refused(lambda: subprocess.run([E['SHARED'] + '/readable']))";
                programs_in_memory (also_unconfined): "refused(lambda: os.memfd_create('program'))";
                set_uid_programs: "usr = [l for l in open('/proc/self/mounts') if l.split()[1] == '/usr']\nall_quiet = 'nosuid' in usr[-1].split()[3].split(',') and 'NoNewPrivs:\\t1' in open('/proc/self/status').read()\nheld() if all_quiet else got()";
                set_uid_left_behind: "open('own', 'w').close()\ndef made(act):\n    try: act()\n    except OSError as error: print(error)\nmade(lambda: os.chmod('own', 0o4755))\nmade(lambda: os.fchmod(os.open('own', os.O_RDONLY), 0o2755))\nmade(lambda: os.close(os.open('new', os.O_CREAT | os.O_WRONLY, 0o4755)))\nmade(lambda: os.mknod('made', 0o6755 | stat.S_IFREG))\nhow = (ctypes.c_uint64 * 3)(os.O_CREAT | os.O_WRONLY, 0o4755, 0)\nprint(raw(437, -100, ctypes.c_char_p(b'how'), how, 24))\nbad = [name for name in os.listdir('.') if os.path.isfile(name) and os.stat(name).st_mode & 0o6000]\ngot(bad) if bad else held()";
                rights: "text = open('/proc/self/status').read()\nhas = [l for l in text.splitlines() if l.startswith('Cap') and int(l.split()[1], 16)]\ngot(has) if has else held()";
                the_root_made_writable: "call('mount', 0, ctypes.c_char_p(b'/'), 0, 0x1020, 0)\ncall('mount_setattr', -100, ctypes.c_char_p(b'/'), 0, 0, 0)\nheld()";
            }
            processes {
                environment_of_the_daemon (also_unconfined): "refused(lambda: open('/proc/%s/environ' % E['DAEMON'], 'rb').read())";
                environment_of_another (also_unconfined): "refused(lambda: open('/proc/%s/environ' % E['VICTIM'], 'rb').read())";
                files_of_another_process (also_unconfined): "all_refused(*[lambda n=n: os.stat('/proc/%s/%s' % (E['VICTIM'], n)) for n in ('root', 'cwd', 'fd', 'mem', 'maps', 'exe')])";
                environment_of_every_process (also_unconfined): "for p in os.listdir('/proc'):\n    if p.isdigit():\n        try:\n            if b'CANARY' in open('/proc/%s/environ' % p, 'rb').read(): got(p)\n        except OSError as error: print(p, error)\nheld()";
                processes_listed (also_unconfined): "seen = [p for p in os.listdir('/proc') if p.isdigit()]\ngot(len(seen)) if len(seen) > 3 else held()";
                memory_of_the_first_process: "all_refused(lambda: open('/proc/1/mem', 'r+b'), lambda: open('/proc/1/environ', 'rb').read(), lambda: os.listdir('/proc/1/fd'), lambda: os.readlink('/proc/1/exe'))";
                the_first_process_killed: "os.kill(1, signal.SIGKILL)\nos.kill(1, signal.SIGTERM)\nheld()";
                another_process_signalled (also_unconfined): "refused(lambda: os.kill(int(E['VICTIM']), 0))";
                the_daemon_signalled (also_unconfined): "refused(lambda: os.kill(int(E['DAEMON']), 0))";
                every_process_signalled: "signal.signal(signal.SIGTERM, signal.SIG_IGN)\ntry: os.kill(-1, signal.SIGTERM)\nexcept OSError as error: print(error)\nheld()";
                process_group_of_the_daemon_signalled: "all_refused(lambda: os.killpg(int(E['DAEMON']), 0), lambda: os.getsid(int(E['DAEMON'])))";
                ptrace: "call('ptrace', 16, int(E['VICTIM']), 0, 0)\ncall('ptrace', 0, 0, 0, 0)\ncall('ptrace', 0x4206, 1, 0, 0)\nheld()";
                memory_by_call: "call('process_vm_readv', int(E['VICTIM']), 0, 0, 0, 0, 0)\ncall('process_vm_writev', 1, 0, 0, 0, 0, 0)\ncall('process_madvise', 1, 0, 0, 0, 0, 0)\nheld()";
                descriptor_by_pidfd: "own = os.pidfd_open(os.getpid())\ncall('pidfd_getfd', own, 1, 0)\nheld()";
                processes_compared: "calls('kcmp')";
                pidfd_of_another (also_unconfined): "refused(lambda: os.pidfd_open(int(E['VICTIM'])))";
                core_dump: "held() if resource.getrlimit(resource.RLIMIT_CORE) == (0, 0) else got()";
                limits_raised: "all_refused(*[lambda r=r: resource.setrlimit(r, (1 << 40, 1 << 40)) for r in (resource.RLIMIT_NOFILE, resource.RLIMIT_NPROC, resource.RLIMIT_FSIZE, resource.RLIMIT_DATA, resource.RLIMIT_CPU, resource.RLIMIT_MEMLOCK)])";
                limits_of_the_first_process: "all_refused(lambda: resource.prlimit(1, resource.RLIMIT_NOFILE, (3, 3)), lambda: resource.prlimit(1, resource.RLIMIT_NOFILE), lambda: os.setpriority(os.PRIO_PROCESS, 1, 19), lambda: os.setpriority(os.PRIO_USER, 0, 19), lambda: os.setpriority(os.PRIO_PGRP, 0, 19))";
                priority_raised (also_unconfined): "refused(lambda: os.nice(-5))";
                real_time_priority: "all_refused(lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)), lambda: os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0)))";
                other_users_become (also_unconfined): "all_refused(lambda: os.setuid(0) if os.getuid() else os.setuid(1), lambda: os.setgid(0) if os.getgid() else os.setgid(1), lambda: os.setgroups([0]))";
                session_of_its_own: "held() if os.getsid(0) == 1 else got(os.getsid(0))";
                out_of_memory_protection: "refused(lambda: open('/proc/self/oom_score_adj', 'w').write('-1000'))";
            }
            talk {
                abstract_socket (also_unconfined): "refused(lambda: socket.socket(socket.AF_UNIX).connect('\\0' + E['ABSTRACT']))";
                path_socket_beside (also_unconfined): "refused(lambda: socket.socket(socket.AF_UNIX).connect(E['SOCKET_BESIDE']))";
                path_socket_in_the_workspace (also_unconfined): "refused(lambda: socket.socket(socket.AF_UNIX).connect(E['SOCKET_WITHIN']))";
                datagram_socket_of_paths (also_unconfined): "refused(lambda: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))";
                shared_memory_of_system_v: "call('shmget', 0, 4096, 0o1600)\ncall('msgget', 0, 0o1600)\ncall('semget', 0, 1, 0o1600)\nheld()";
                message_queues: "call('mq_open', ctypes.c_char_p(b'q'), 0o102, 0o600, 0)\nheld()";
                terminal_injection: "import termios\nfor request in (termios.TIOCSTI, 0x541c, 0x541d, 0x5423):\n    try: fcntl.ioctl(0, request, b'x')\n    except PermissionError as error: print(error)\n    except OSError as error: got(error)\n    else: got()\nheld()";
                terminal_injection_with_high_bits: "call_number = 29 if ARM else 16\nresult, error = raw(call_number, 0, 0x100005412, ctypes.c_char_p(b'x'))\nheld() if error == errno.EPERM else got(error)";
                inherited_descriptors (also_unconfined): "first = int(E['FIRST_DESCRIPTOR'])\nextra = [d for d in os.listdir('/proc/self/fd') if int(d) > first]\nfor d in range(first, 64):\n    try: os.fstat(d); extra.append(d)\n    except OSError: pass\ngot(extra) if extra else held()";
                environment: "extra = set(os.environ) - set(E['GIVEN'].split())\ngot(extra) if extra else held()";
                asynchronous_signals_to_others (also_unconfined): "a, b = os.pipe()\nrefused(lambda: fcntl.fcntl(a, fcntl.F_SETOWN, int(E['VICTIM'])))";
            }
            network {
                tcp_to_the_host (also_unconfined): "refused(lambda: socket.create_connection(('127.0.0.1', int(E['TCP_PORT'])), 5))";
                tcp_out: "refused(lambda: socket.create_connection(('192.0.2.1', 80), 5))";
                tcp_six (also_unconfined): "refused(lambda: socket.socket(socket.AF_INET6))";
                tcp_bind (also_unconfined): "refused(lambda: socket.socket().bind(('127.0.0.1', 0)))";
                udp_to_the_host (also_unconfined): "refused(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', int(E['UDP_PORT']))))";
                names_resolved: "refused(lambda: socket.getaddrinfo('example.com', 80))";
                icmp (also_unconfined): "all_refused(lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1), lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM, 1))";
                packets (also_unconfined): "refused(lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0))";
                netlink (also_unconfined): "all_refused(*[lambda p=p: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, p) for p in (0, 4, 9, 12, 15, 16)])";
                virtual_sockets: "refused(lambda: socket.socket(40, socket.SOCK_STREAM))";
                crypto_sockets: "refused(lambda: socket.socket(38, socket.SOCK_SEQPACKET))";
                every_other_family: "all_refused(*[lambda f=f: socket.socket(f, t) for f in range(0, 46) for t in (1, 2, 3, 5)])";
                pairs_of_other_families: "all_refused(*[lambda f=f: socket.socketpair(f) for f in (2, 10, 30)])";
                interfaces: "names = [l.split(':')[0].strip() for l in open('/proc/net/dev') if ':' in l]\nheld() if names == ['lo'] else got(names)";
            }
            beside_a_proxy {
                with_a_proxy_tcp_to_the_host: "all_refused(lambda: socket.create_connection(('127.0.0.1', int(E['TCP_PORT'])), 5), lambda: socket.create_connection(('127.0.0.2', int(E['TCP_PORT'])), 5))";
                with_a_proxy_tcp_out_on_its_port: "refused(lambda: socket.create_connection(('192.0.2.1', 3128), 5))";
                with_a_proxy_tcp_six: "refused(lambda: socket.create_connection(('2001:db8::1', 3128), 5))";
                with_a_proxy_bind: "all_refused(lambda: socket.socket().bind(('127.0.0.1', 0)), lambda: socket.socket().bind(('0.0.0.0', 3128)), lambda: socket.socket().listen())";
                with_a_proxy_udp: "all_refused(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM), lambda: socket.socket(socket.AF_INET6, socket.SOCK_DGRAM))";
                with_a_proxy_names: "refused(lambda: socket.getaddrinfo('example.com', 80))";
                with_a_proxy_other_streams: "all_refused(lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM, 132), lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262), lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 6), lambda: socket.socket(socket.AF_UNIX))";
                with_a_proxy_fast_open: "s = socket.socket()\nrefused(lambda: s.sendto(b'x', 0x20000000, ('192.0.2.1', 80)))";
                with_a_proxy_netlink: "refused(lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0))";
            }
            kernel {
                mounts: "calls('mount', 'umount2', 'pivot_root', 'open_tree', 'move_mount', 'fsopen', 'fspick', 'mount_setattr', 'statmount')";
                mounts_by_program: "held() if subprocess.run(['mount', '-t', 'tmpfs', 'none', '/tmp']).returncode else got()";
                chroot: "refused(lambda: os.chroot('/tmp'))";
                namespaces_unshared: "for flag in (0x10000000, 0x20000, 0x20000000, 0x40000000, 0x8000000, 0x4000000, 0x2000000, 0x80, 0):\n    call('unshare', flag)\nheld()";
                namespaces_entered: "own = os.open('/proc/self/ns/user', os.O_RDONLY)\ncall('setns', own, 0)\nheld()";
                namespaces_by_clone: "for flag in (0x10000000, 0x20000, 0x20000000, 0x40000000):\n    call('clone', flag | 17, 0, 0, 0, 0)\ncall('clone3', 0, 0)\nheld()";
                namespaces_by_program (also_unconfined): "got() if subprocess.run(['unshare', '-U', 'true']).returncode == 0 else held()";
                blocks_of_the_whole_disk: "space = ctypes.create_string_buffer(4096)\nfolder = os.open('.', os.O_RDONLY)\nall_refused(*[lambda r=r: fcntl.ioctl(folder, r, space) for r in (0xc0c0583b, 0xc020660b, 0xc0185879, 0x801c581f, 0xc0189436, 1)])";
                merged_memory: "result = libc.prctl(67, 1, 0, 0, 0)\nheld() if result == -1 else got(result)";
                keys: "calls('add_key', 'request_key', 'keyctl')";
                io_uring: "calls('io_uring_setup', 'io_uring_register')";
                bpf: "calls('bpf')";
                performance_events: "calls('perf_event_open')";
                page_faults: "calls('userfaultfd')";
                modules: "calls('init_module', 'finit_module', 'delete_module')";
                another_kernel: "calls('kexec_load', 'kexec_file_load')";
                reboot: "calls('reboot')";
                names_of_the_host: "calls('sethostname', 'setdomainname')";
                clocks: "calls('settimeofday', 'clock_settime', 'adjtimex')";
                personalities: "for value in (0x0400000, 0x0040000, 0x0008, 0xfffffffe):\n    call('personality', value)\nheld()";
                swap_and_quota: "calls('swapon', 'swapoff', 'acct', 'quotactl', 'quotactl_fd')";
                kernel_log: "call('syslog', 3, 0, 0)\nheld()";
                file_watches_of_everything: "calls('fanotify_init')";
                secret_memory: "calls('memfd_secret', 'memfd_create')";
                hang_up_and_schedulers: "calls('vhangup', 'sched_setscheduler', 'ioprio_set', 'lsm_set_self_attr')";
                calls_of_the_x32_kind: "if ARM: held('not on this architecture')\nfor number in (39, 101, 165, 272):\n    result, error = raw(0x40000000 + number, 0, 0, 0, 0)\n    if result != -1 or error not in REFUSALS: got((number, error))\nheld()";
                calls_of_the_32_bit_kind: "if ARM: held('not on this architecture')\nimport mmap\ncode = mmap.mmap(-1, 4096, prot=7)\ncode.write(bytes.fromhex('b814000000cd80c3'))\nact = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))\nchild = os.fork()\nif child == 0:\n    act()\n    os._exit(42)\nstatus = os.waitpid(child, 0)[1]\nheld(status) if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGSYS else got(status)";
                filters_taken_off: "call('ptrace', 0, 0, 0, 0)\nheld() if 'Seccomp:\\t2' in open('/proc/self/status').read() else got()";
                port_access: "if ARM: held('not on this architecture')\nfor number in (172, 173, 154):\n    result, error = raw(number, 3, 0, 0)\n    if result != -1 or error not in REFUSALS: got((number, error))\nheld()";
                calls_beyond_the_last: "for number in (449 + 50, 600, 1000, 0x3fffffff):\n    result, error = raw(number, 0, 0, 0, 0)\n    if result != -1 or error not in REFUSALS: got((number, error))\nheld()";
            }
            exhaustion {
                large_files: "refused(lambda: os.truncate(os.open('large', os.O_CREAT | os.O_RDWR), 1 << 30))";
                space_without_writing: "file = os.open('space', os.O_CREAT | os.O_RDWR)\nlibc.fallocate(file, 0, ctypes.c_long(0), ctypes.c_long(1 << 20))\nlibc.fallocate(file, 1, ctypes.c_long(0), ctypes.c_long(1 << 20))\nlibc.fallocate(file, 16, ctypes.c_long(0), ctypes.c_long(1 << 20))\nblocks = os.fstat(file).st_blocks\ngot(blocks) if blocks else held()";
                large_writes: "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\nfile = open('large', 'wb')\nrefused(lambda: [file.write(b'x' * (1 << 20)) for _ in range(4 * int(E['FILE_MB']))])";
                large_tmp: "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\nfile = open('/tmp/large', 'wb', buffering=0)\nrefused(lambda: [file.write(b'x' * (1 << 20)) for _ in range(2 * int(E['TMP_MB']))])";
                large_shared_memory: "file = open('/dev/shm/large', 'wb', buffering=0)\nrefused(lambda: [file.write(b'x' * (1 << 20)) for _ in range(2 * int(E['TMP_MB']))])";
                many_files_in_tmp: "refused(lambda: [open('/tmp/%d' % n, 'w').close() for n in range(100000)])";
                many_descriptors: "refused(lambda: [os.dup(0) for _ in range(1000)])";
                locked_memory: "size = 64 << 20\nspace = ctypes.create_string_buffer(size)\nresult = libc.mlock(space, ctypes.c_size_t(size))\nheld() if result else got()";
                the_root_filled: "refused(lambda: open('/filled', 'w'))";
            }
        }
    };
}
