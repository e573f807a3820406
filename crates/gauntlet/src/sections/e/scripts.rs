//! Attempts that need more around them than the sandbox's own tests have: a daemon with a home,
//! sockets that pass descriptors on, and a proxy that leads somewhere.

use super::escapes::{AttemptFrom, Escape, by_a_door, made, row};
use crate::attempt::Attempt;

/// A script that talks to the proxy. It is only made where what was granted can be reached.
macro_rules! at_the_proxy {
    ($script:literal) => {
        concat!(
            r#"
import ssl, urllib.parse, urllib.request
P = urllib.parse.urlsplit(E['http_proxy'] if 'http_proxy' in E else os.environ['http_proxy'])
G, I, S = (E[name].encode() for name in ('GRANTED', 'INSIDE', 'SECURE'))

def read(s):
    told = b''
    while True:
        try: piece = s.recv(65536)
        except OSError: break
        if not piece: break
        told += piece
        s.settimeout(0.5)
    return told.decode(errors='replace')

def ask(request):
    s = socket.create_connection((P.hostname, P.port), 10)
    s.settimeout(10)
    s.sendall(request)
    return read(s)

def get(authority):
    return ask(b'GET http://' + authority + b'/ HTTP/1.1\r\nHost: ' + authority + b'\r\nConnection: close\r\n\r\n')

def connect(authority):
    return ask(b'CONNECT ' + authority + b' HTTP/1.1\r\nHost: ' + authority + b'\r\n\r\n')

def kept_out(*authorities):
    for authority in authorities:
        for told in (get(authority), connect(authority)):
            print(authority, told[:200])
            if told.split('\r\n')[0].split(' ')[1:2] == ['200']: got((authority, told))
    held()

def tunnel(first):
    s = socket.create_connection((P.hostname, P.port), 10)
    s.settimeout(10)
    s.sendall(b'CONNECT localhost:' + S + b' HTTP/1.1\r\nHost: localhost:' + S + b'\r\n\r\n')
    head = s.recv(65536).decode(errors='replace')
    if ' 200 ' not in head.split('\r\n')[0]: return head
    s.sendall(first)
    return read(s)

def hello(name):
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    out = ssl.MemoryBIO()
    try: context.wrap_bio(ssl.MemoryBIO(), out, server_hostname=name).do_handshake()
    except ssl.SSLWantReadError: pass
    return out.read()

if 'granted' not in get(b'localhost:' + G):
    print('what was granted is not reached', get(b'localhost:' + G))
    os._exit(1)
"#,
            $script
        )
    };
}

macro_rules! extras {
    ($each:ident) => {
        $each! {
            files {
                token_of_the_daemon: "all_refused(*[lambda n=n: open(E['ROOT'] + '/run/' + n).read() for n in ('admin.token', 'daemon.json')], lambda: os.listdir(E['ROOT'] + '/run'))";
                vault_and_ledger_of_the_daemon: "all_refused(lambda: os.listdir(E['ROOT'] + '/vault'), lambda: open(E['ROOT'] + '/insula.db', 'rb').read(16), lambda: open(E['ROOT'] + '/vault/key', 'rb').read(16))";
                database_of_another: "all_refused(lambda: open(E['ROOT'] + '/agents/b/agent.db', 'rb').read(16), lambda: open(E['ROOT'] + '/agents/b/agent.db-wal', 'rb').read(16))";
                soul_and_memory_of_another: "all_refused(lambda: open(E['ROOT'] + '/agents/b/SOUL.md').read(), lambda: os.listdir(E['ROOT'] + '/agents/b/memories'))";
                its_own_database: "all_refused(lambda: open(E['WORKSPACE'] + '/../agent.db', 'rb').read(16), lambda: os.listdir(E['WORKSPACE'] + '/../logs'))";
                its_own_policy_written_stays_in_its_own_tmp: "for name in ('agent.yaml', 'SOUL.md', 'hooks', 'skills', 'memories'):\n    try: open(E['WORKSPACE'] + '/../' + name, 'w').write('mine')\n    except OSError as error: print(name, error)\nheld()";
                file_of_another_by_exchange: "open('own-to-exchange', 'w').write('mine')\nresult, error = raw(276 if ARM else 316, -100, ctypes.c_char_p(b'own-to-exchange'), -100, ctypes.c_char_p(E['SECRET_FILE'].encode()), 2)\nheld(error) if result == -1 else got()";
                root_by_a_descriptor_of_its_root: "root = os.open('/', os.O_PATH)\nall_refused(lambda: open('/proc/self/fd/%d%s' % (root, E['SECRET_FILE'])).read(), lambda: os.open('.' + E['SECRET_FILE'], os.O_RDONLY, dir_fd=root), lambda: os.open('../../../..' + E['SECRET_FILE'], os.O_RDONLY, dir_fd=root))";
                root_by_its_threads: "all_refused(lambda: open('/proc/thread-self/root' + E['SECRET_FILE']).read(), lambda: open('/proc/self/task/%d/root%s' % (os.getpid(), E['SECRET_FILE'])).read())";
                mounts_told_nothing: "text = open('/proc/self/mountinfo').read() + open('/proc/self/mounts').read()\ngot(text) if E['OTHER'] in text or '/agents/b' in text else held()";
                sparse_file: "import mmap\nfile = open('sparse', 'wb')\nrefused(lambda: (file.seek(1 << 40), file.write(b'x'), file.flush()))";
                pipes_sockets_and_devices_by_other_calls: "call('mknodat', -100, ctypes.c_char_p(b'a-pipe'), 0o010666, 0)\ncall('mknodat', -100, ctypes.c_char_p(b'a-device'), 0o020666, os.makedev(1, 1))\nheld()";
            }
            processes {
                files_of_the_daemon (also_unconfined): "all_refused(*[lambda n=n: os.stat('/proc/%s/%s' % (E['DAEMON'], n)) for n in ('environ', 'root', 'cwd', 'fd', 'mem', 'maps', 'task', 'exe')])";
                memory_of_the_daemon_written: "refused(lambda: open('/proc/%s/mem' % E['DAEMON'], 'r+b'))";
                limits_of_another (also_unconfined): "all_refused(lambda: resource.prlimit(int(E['VICTIM']), resource.RLIMIT_NOFILE), lambda: resource.prlimit(int(E['DAEMON']), resource.RLIMIT_NOFILE))";
                places_of_another (also_unconfined): "all_refused(lambda: os.sched_getaffinity(int(E['VICTIM'])), lambda: os.getpgid(int(E['VICTIM'])), lambda: os.getpriority(os.PRIO_PROCESS, int(E['VICTIM'])))";
            }
            talk {
                descriptor_passed_by_a_socket (also_unconfined): "def passed(where):\n    s = socket.socket(socket.AF_UNIX)\n    s.settimeout(10)\n    s.connect(where)\n    return os.read(socket.recv_fds(s, 10, 1)[1][0], 100)\nall_refused(lambda: passed('\\0' + E['ABSTRACT']), lambda: passed(E['SOCKET_WITHIN']), lambda: passed(E['SOCKET_BESIDE']))";
            }
            through_the_proxy {
                private_addresses: at_the_proxy!("kept_out(b'127.0.0.1:' + I, b'10.0.0.1:' + I, b'169.254.169.254:80', b'[::1]:' + I)");
                another_port_of_a_granted_host: at_the_proxy!("kept_out(b'localhost:' + I, b'LOCALHOST:' + I, b'localhost:22')");
                host_with_nul: at_the_proxy!("kept_out(b'127.0.0.1\\0.localhost:' + I, b'localhost\\0.example:' + I, b'localhost:' + G + b'\\0@127.0.0.1:' + I)");
                trailing_dot: at_the_proxy!("kept_out(b'127.0.0.1.:' + I, b'localhost.:' + I, b'localhost..:' + G)");
                at_sign: at_the_proxy!("kept_out(b'localhost:' + G + b'@127.0.0.1:' + I, b'localhost%40127.0.0.1:' + I, b'localhost:' + G + b'#@127.0.0.1:' + I)");
                four_in_six: at_the_proxy!("kept_out(b'[::ffff:127.0.0.1]:' + I, b'[::ffff:7f00:1]:' + I, b'[::127.0.0.1]:' + I, b'[64:ff9b::7f00:1]:' + I)");
                decimal_address: at_the_proxy!("kept_out(b'2130706433:' + I, b'127.1:' + I, b'0:' + I, b'0.0.0.0:' + I)");
                octal_and_hex_address: at_the_proxy!("kept_out(b'0177.0.0.1:' + I, b'017700000001:' + I, b'0x7f000001:' + I, b'0X7F.1:' + I)");
                encoded_and_foreign_letters: at_the_proxy!("kept_out(b'%6c%6f%63%61%6c%68%6f%73%74:' + I, '127。0。0。1:'.encode() + I, 'ⓛocalhost:'.encode() + I)");
                redirect_to_a_private_address: at_the_proxy!("through = urllib.request.build_opener(urllib.request.ProxyHandler({'http': P.geturl()}))\nrefused(lambda: through.open('http://localhost:%s/away' % E['GRANTED'], timeout=10).read())");
                another_host_in_the_header: at_the_proxy!("told = ask(b'GET http://localhost:' + G + b'/ HTTP/1.1\\r\\nHost: 127.0.0.1:' + I + b'\\r\\nConnection: close\\r\\n\\r\\n')\nprint(told)\nheld()");
                a_second_request_behind_the_first: at_the_proxy!("told = ask(b'GET http://localhost:' + G + b'/ HTTP/1.1\\r\\nHost: localhost:' + G + b'\\r\\n\\r\\nGET http://127.0.0.1:' + I + b'/ HTTP/1.1\\r\\nHost: 127.0.0.1:' + I + b'\\r\\n\\r\\n')\nprint(told)\ngot(told) if told.count('HTTP/1.1 200') > 1 else held()");
                a_request_with_two_lengths: at_the_proxy!("inner = b'GET http://127.0.0.1:' + I + b'/ HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n'\ntold = ask(b'POST http://localhost:' + G + b'/ HTTP/1.1\\r\\nHost: localhost:' + G + b'\\r\\nContent-Length: %d\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n0\\r\\n\\r\\n' % len(inner) + inner)\nprint(told)\ngot(told) if ' 200 ' in told else held()");
                rebinding: at_the_proxy!("for _ in range(4): print(get(b'rebind.test:' + I)[:200])\nheld()");
                tunnel_with_another_name_inside: at_the_proxy!("if 'secure' not in tunnel(hello('localhost')):\n    print('no tunnel at all', tunnel(hello('localhost')))\n    os._exit(1)\ntold = tunnel(hello('inside.example'))\nprint(told)\ngot(told) if 'secure' in told else held()");
                tunnel_without_a_name_inside: at_the_proxy!("told = tunnel(hello(None))\nprint(told)\ngot(told) if 'secure' in told else held()");
                tunnel_without_tls_inside: at_the_proxy!("told = tunnel(b'GET / HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n') + tunnel(b'SSH-2.0-x\\r\\n')\nprint(told)\ngot(told) if 'secure' in told else held()");
            }
        }
    };
}

macro_rules! table {
    ($($group:ident { $($name:ident $(($flag:ident))? : $script:expr;)* })*) => {
        &[$($(Escape {
            group: stringify!($group),
            name: stringify!($name),
            unconfined: false $(|| !stringify!($flag).is_empty())?,
            script: $script,
        },)*)*]
    };
}

const EXTRAS: &[Escape] = extras!(table);

by_a_door!($ shell_root, EXTRAS, AttemptFrom::Shell, "shell tool, root");
by_a_door!($ shell_user, EXTRAS, AttemptFrom::Shell, "shell tool, user");
by_a_door!($ server_root, EXTRAS, AttemptFrom::Server, "MCP server, root");
by_a_door!($ server_user, EXTRAS, AttemptFrom::Server, "MCP server, user");

/// By a program of the shell tool.
pub const BY_SHELL_AS_ROOT: &[Attempt] = extras!(shell_root);
/// The same where the daemon is an ordinary user.
pub const BY_SHELL_AS_USER: &[Attempt] = extras!(shell_user);
/// By an MCP server.
pub const BY_SERVER_AS_ROOT: &[Attempt] = extras!(server_root);
/// The same where the daemon is an ordinary user.
pub const BY_SERVER_AS_USER: &[Attempt] = extras!(server_user);
