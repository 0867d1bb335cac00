"""The system calls that a submission may make, with their numbers on x86-64 and aarch64; every other one is refused."""

# name:x86-64:aarch64, "-" where the machine has no such call. A test compares the numbers with the kernel's headers.
_TABLE = """
read:0:63 write:1:64 readv:19:65 writev:20:66 pread64:17:67 pwrite64:18:68 preadv:295:69 pwritev:296:70
lseek:8:62 close:3:57 close_range:436:436 dup:32:23 dup2:33:- dup3:292:24 sendfile:40:71 copy_file_range:326:285
open:2:- openat:257:56 stat:4:- fstat:5:80 lstat:6:- newfstatat:262:79 statx:332:291 access:21:-
faccessat:269:48 faccessat2:439:439 readlink:89:- readlinkat:267:78 getcwd:79:17 getdents:78:- getdents64:217:61
statfs:137:43 fstatfs:138:44 umask:95:166 chdir:80:49 fchdir:81:50 mkdir:83:- mkdirat:258:34 rmdir:84:-
unlink:87:- unlinkat:263:35 rename:82:- renameat:264:38 renameat2:316:276 ftruncate:77:46 fallocate:285:47
fsync:74:82 fdatasync:75:83 flock:73:32 fadvise64:221:223 mmap:9:222 mprotect:10:226 munmap:11:215 mremap:25:216
madvise:28:233 brk:12:214 msync:26:227 mincore:27:232 mlock:149:228 munlock:150:229 get_mempolicy:239:236
membarrier:324:283 pkey_alloc:330:289 pkey_free:331:290 pkey_mprotect:329:288 rseq:334:293
set_robust_list:273:99 get_robust_list:274:100 set_tid_address:218:96 futex:202:98 futex_waitv:449:449
arch_prctl:158:- sched_yield:24:124 sched_getaffinity:204:123 sched_getparam:143:121 sched_getscheduler:145:120
sched_get_priority_max:146:125 sched_get_priority_min:147:126 getpriority:140:141 nanosleep:35:101
clock_nanosleep:230:115 clock_gettime:228:113 clock_getres:229:114 gettimeofday:96:169 time:201:- times:100:153
getrusage:98:165 getitimer:36:102 setitimer:38:103 alarm:37:- pause:34:- timer_create:222:107
timer_settime:223:110 timer_gettime:224:108 timer_getoverrun:225:109 timer_delete:226:111 timerfd_create:283:85
timerfd_settime:286:86 timerfd_gettime:287:87 eventfd2:290:19 pipe:22:- pipe2:293:59 poll:7:- ppoll:271:73
select:23:- pselect6:270:72 epoll_create1:291:20 epoll_ctl:233:21 epoll_wait:232:- epoll_pwait:281:22
getpid:39:172 getppid:110:173 gettid:186:178 getuid:102:174 geteuid:107:175 getgid:104:176 getegid:108:177
getresuid:118:148 getresgid:120:150 getgroups:115:158 getpgrp:111:- getpgid:121:155 getsid:124:156 uname:63:160
sysinfo:99:179 getcpu:309:168 getrandom:318:278 getrlimit:97:163 restart_syscall:219:128 rt_sigaction:13:134
rt_sigprocmask:14:135 rt_sigreturn:15:139 rt_sigpending:127:136 rt_sigtimedwait:128:137 rt_sigsuspend:130:133
sigaltstack:131:132 exit:60:93 exit_group:231:94 kill:62:129 tgkill:234:131 clone:56:220 clone3:435:435
fcntl:72:25 ioctl:16:29 prctl:157:167 prlimit64:302:261
"""

ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}  # AUDIT_ARCH_...
_COLUMN = {"x86_64": 1, "aarch64": 2}

CLONE_THREAD, CLONE_NEW = 0x00010000, 0x7E020000 | 0x00000080  # all namespaces
ENOSYS = 38

# Calls that are allowed with some values of one argument only: name -> (index of the argument, values).
# "self" stands for the process's own number.
ARGUMENTS: dict[str, tuple[int, tuple[int | str, ...]]] = {
    "kill": (0, ("self", 0)),  # 0: the own process group, which nobody else is in
    "tgkill": (0, ("self",)),
    "prlimit64": (0, ("self", 0)),
    "fcntl": (1, (0, 1, 2, 3, 4, 5, 6, 7, 36, 37, 38, 1030)),  # duplicate, flags, locks; not owner, signal, lease
    "ioctl": (
        1,
        (0x5401, 0x802C542A, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451),
    ),  # isatty, size, FIO...; no TIOCSTI
    "prctl": (0, (15, 16, 0x53564D41)),  # the thread's name, names of mappings
}


def numbers(machine: str) -> dict[str, int]:
    """Name -> number on "x86_64" or "aarch64". Raises KeyError for another machine."""
    column = _COLUMN[machine]
    rows = (row.split(":") for row in _TABLE.split())
    return {row[0]: int(row[column]) for row in rows if row[column] != "-"}
