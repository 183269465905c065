/**
 * Numbers of the system calls in the seccomp filter, from the kernel's headers: `[x86-64, arm64]`. A call that an
 * architecture does not have is missing there.
 */
type Numbers = readonly [x64: number | undefined, arm64: number | undefined];

/** Newest known call. Later ones are answered as by an older kernel. */
export const NEWEST_SYSCALL = 451;

/** Calls that a plugin's process never needs, by what they would open. */
export const REFUSED: Readonly<Record<string, Numbers>> = {
  // Other processes
  ptrace: [101, 117],
  process_vm_readv: [310, 270],
  process_vm_writev: [311, 271],
  kcmp: [312, 272],
  pidfd_send_signal: [424, 424],
  pidfd_open: [434, 434],
  pidfd_getfd: [438, 438],
  process_madvise: [440, 440],
  process_mrelease: [448, 448],
  // Processes of its own
  fork: [57, undefined],
  vfork: [58, undefined],
  // The keyring, which has no namespaces
  add_key: [248, 217],
  request_key: [249, 218],
  keyctl: [250, 219],
  // Parts of the kernel with a history of vulnerabilities
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  bpf: [321, 280],
  perf_event_open: [298, 241],
  userfaultfd: [323, 282],
  fanotify_init: [300, 262],
  personality: [135, 92],
  modify_ldt: [154, undefined],
  lookup_dcookie: [212, 18],
  nfsservctl: [180, 42],
  // Namespaces and mounts
  unshare: [272, 97],
  setns: [308, 268],
  mount: [165, 40],
  umount2: [166, 39],
  pivot_root: [155, 41],
  chroot: [161, 51],
  open_tree: [428, 428],
  move_mount: [429, 429],
  fsopen: [430, 430],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fspick: [433, 433],
  mount_setattr: [442, 442],
  quotactl: [179, 60],
  quotactl_fd: [443, 443],
  name_to_handle_at: [303, 264],
  open_by_handle_at: [304, 265],
  // The machine
  kexec_load: [246, 104],
  kexec_file_load: [320, 294],
  init_module: [175, 105],
  finit_module: [313, 273],
  delete_module: [176, 106],
  reboot: [169, 142],
  swapon: [167, 224],
  swapoff: [168, 225],
  acct: [163, 89],
  syslog: [103, 116],
  settimeofday: [164, 170],
  clock_settime: [227, 112],
  clock_adjtime: [305, 266],
  adjtimex: [159, 171],
  sethostname: [170, 161],
  setdomainname: [171, 162],
  iopl: [172, undefined],
  ioperm: [173, undefined],
  vhangup: [153, 58],
  // Memory that no sampler sees
  shmget: [29, 194],
  msgget: [68, 186],
  semget: [64, 190],
  mq_open: [240, 180],
  memfd_secret: [447, 447],
};

/** Calls allowed for a process in namespaces of its own, where they reach only itself. */
export const REACHING_OUT: Readonly<Record<string, Numbers>> = {
  // Other processes of the same user
  kill: [62, 129],
  tkill: [200, 130],
  tgkill: [234, 131],
  rt_sigqueueinfo: [129, 138],
  rt_tgsigqueueinfo: [297, 240],
  setpriority: [141, 140],
  sched_setparam: [142, 118],
  sched_setscheduler: [144, 119],
  sched_setaffinity: [203, 122],
  sched_setattr: [314, 274],
  ioprio_set: [251, 30],
  migrate_pages: [256, 238],
  move_pages: [279, 239],
  setpgid: [109, 154],
  setsid: [112, 157],
  // Files by their path, which Landlock does not cover
  chmod: [90, undefined],
  fchmodat: [268, 53],
  chown: [92, undefined],
  lchown: [94, undefined],
  fchownat: [260, 54],
  utime: [132, undefined],
  utimes: [235, undefined],
  futimesat: [261, undefined],
  setxattr: [188, 5],
  lsetxattr: [189, 6],
  removexattr: [197, 14],
  lremovexattr: [198, 15],
  inotify_add_watch: [254, 27],
};
/** Calls of the same kind whose one argument decides: it must be 0, which is the process itself, or an open file. */
export const REACHING_OUT_UNLESS_ZERO: readonly (readonly [numbers: Numbers, argument: number])[] = [
  [[302, 261], 0], // prlimit64: a process id
  [[280, 88], 1], // utimensat: a path
];

/** Calls whose arguments are a structure, which a filter cannot read: C libraries fall back to the older ones. */
export const UNREADABLE: Readonly<Record<string, Numbers>> = { clone3: [435, 435], openat2: [437, 437] };

export const CLONE: Numbers = [56, 220];
export const SOCKET: Numbers = [41, 198];

/** Calls that set the mode of a file, with the index of that argument. */
export const MODE_SETTERS: readonly (readonly [numbers: Numbers, argument: number])[] = [
  [[90, undefined], 1], // chmod
  [[91, 52], 1], // fchmod
  [[268, 53], 2], // fchmodat
  [[2, undefined], 2], // open
  [[257, 56], 3], // openat
  [[85, undefined], 1], // creat
  [[83, undefined], 1], // mkdir
  [[258, 34], 2], // mkdirat
  [[133, undefined], 1], // mknod
  [[259, 33], 2], // mknodat
];
