/**
 * A seccomp filter (classic BPF) for `bwrap --seccomp`, one for x86_64 and aarch64. A deny list: the sandbox has no capability, no user
 * namespace of its own and no device, and the filter takes away what of the kernel a build or a function does not need.
 */

const [EPERM, ENOSYS, EPROTONOSUPPORT, EAFNOSUPPORT] = [1, 38, 93, 97]
const [ALLOW, KILL] = [0x7fff0000, 0x80000000]

/** TABLE denied system calls: numbers on x86_64 and aarch64 (asm/unistd_64.h, asm-generic/unistd.h); null where there is no such call. */
export const DENIED: Readonly<Record<string, readonly [x86_64: number | null, aarch64: number | null]>> = {
  // Keys, programs in the kernel, page faults, counters, rings.
  add_key: [248, 217],
  request_key: [249, 218],
  keyctl: [250, 219],
  bpf: [321, 280],
  userfaultfd: [323, 282],
  perf_event_open: [298, 241],
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  // Contexts of asynchronous input and output: all of the machine share `fs.aio-max-nr`.
  io_setup: [206, 0],
  io_destroy: [207, 1],
  io_submit: [209, 2],
  io_cancel: [210, 3],
  io_getevents: [208, 4],
  io_pgetevents: [333, 292],
  // Mounts, roots, namespaces.
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
  statmount: [457, 457],
  listmount: [458, 458],
  unshare: [272, 97],
  setns: [308, 268],
  // Other processes.
  ptrace: [101, 117],
  process_vm_readv: [310, 270],
  process_vm_writev: [311, 271],
  pidfd_getfd: [438, 438],
  kcmp: [312, 272],
  process_madvise: [440, 440],
  process_mrelease: [448, 448],
  // The kernel itself.
  kexec_load: [246, 104],
  kexec_file_load: [320, 294],
  create_module: [174, null],
  init_module: [175, 105],
  delete_module: [176, 106],
  get_kernel_syms: [177, null],
  query_module: [178, null],
  finit_module: [313, 273],
  syslog: [103, 116],
  reboot: [169, 142],
  iopl: [172, null],
  ioperm: [173, null],
  modify_ldt: [154, null],
  nfsservctl: [180, 42],
  lookup_dcookie: [212, 18],
  _sysctl: [156, null],
  uselib: [134, null],
  ustat: [136, null],
  sysfs: [139, null],
  vhangup: [153, 58],
  vserver: [236, null],
  lsm_set_self_attr: [460, 460],
  // Quotas, accounting, file handles, marks on whole filesystems.
  quotactl: [179, 60],
  quotactl_fd: [443, 443],
  acct: [163, 89],
  swapon: [167, 224],
  swapoff: [168, 225],
  name_to_handle_at: [303, 264],
  open_by_handle_at: [304, 265],
  fanotify_init: [300, 262],
  fanotify_mark: [301, 263],
  // Clock and names.
  settimeofday: [164, 170],
  clock_settime: [227, 112],
  clock_adjtime: [305, 266],
  adjtimex: [159, 171],
  sethostname: [170, 161],
  setdomainname: [171, 162],
  // Placement of memory, memory that is hidden from the operator.
  mbind: [237, 235],
  set_mempolicy: [238, 237],
  migrate_pages: [256, 238],
  move_pages: [279, 239],
  set_mempolicy_home_node: [450, 450],
  memfd_secret: [447, 447],
  remap_file_pages: [216, 234],
}

type Architecture = {
  id: number
  column: 0 | 1
  clone: number
  ioctl: number
  personality: number
  socket: number
  socketpair: number
  hasX32: boolean
}

const ARCHITECTURES: readonly Architecture[] = [
  { id: 0xc000003e, column: 0, clone: 56, ioctl: 16, personality: 135, socket: 41, socketpair: 53, hasX32: true },
  { id: 0xc00000b7, column: 1, clone: 220, ioctl: 29, personality: 92, socket: 198, socketpair: 199, hasX32: false },
]

const CLONE3 = 435
/** mseal. A call that is newer than the table does not exist inside. */
const NEWEST_CALL = 462
/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET; NEWTIME is for clone3 and unshare alone. */
const NEW_NAMESPACES = 0x7e020000
/** TIOCSTI and TIOCLINUX type into the terminal of the host. */
const TYPING = [0x5412, 0x541c]
/** unix, inet and inet6; netlink for its routes alone. vsock is not bound to a network namespace, so it would reach the hypervisor. */
const UNIX = 1
const INTERNET_FAMILIES = [2, 10]
/**
 * Of the internet families: the default of the type, ICMP, TCP, UDP and ICMPv6, which are part of each kernel. For another protocol it loads a module. The
 * rules of the network close ICMP.
 */
const PROTOCOLS = [0, 1, 6, 17, 58]
const [NETLINK, NETLINK_ROUTE] = [16, 0]
/** Of `personality`: none, and the query. */
const PERSONALITIES = [0, 0xffffffff]

type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, value: number]

const [LOAD, EQUAL, GREATER, GREATER_OR_EQUAL, ANY_BIT, JUMP, RETURN] = [0x20, 0x15, 0x25, 0x35, 0x45, 0x05, 0x06]
/** Offsets in struct seccomp_data. Both architectures are little endian: of an argument the low half comes first. */
const [CALL, ARCHITECTURE] = [0, 4]

function argument(index: number): number {
  return 16 + 8 * index
}

function errorOf(number: number): number {
  return 0x00050000 | number
}

function instruction(code: number, value: number, ifTrue = 0, ifFalse = 0): Instruction {
  return [code, ifTrue, ifFalse, value >>> 0]
}

function answer(value: number): Instruction {
  return instruction(RETURN, value)
}

/** Executes `then` where the test holds, and skips it otherwise. */
function when(code: number, value: number, then: readonly Instruction[]): Instruction[] {
  return [instruction(code, value, 0, then.length), ...then]
}

function deny(value: number, error: number): Instruction[] {
  return when(EQUAL, value, [answer(errorOf(error))])
}

function allow(value: number): Instruction[] {
  return when(EQUAL, value, [answer(ALLOW)])
}

function filterOf({ column, clone, ioctl, personality, hasX32, ...more }: Architecture): Instruction[] {
  const numbers = Object.values(DENIED).flatMap((pair) => pair[column] ?? [])
  return [
    instruction(LOAD, CALL),
    ...(hasX32 ? when(GREATER_OR_EQUAL, 0x40000000, [answer(errorOf(ENOSYS))]) : []),
    ...when(GREATER, NEWEST_CALL, [answer(errorOf(ENOSYS))]),
    // The flags of clone3 lie in memory, which no filter reads; the C library falls back to clone.
    ...deny(CLONE3, ENOSYS),
    ...numbers.flatMap((number) => deny(number, EPERM)),
    ...when(EQUAL, clone, [
      instruction(LOAD, argument(0)),
      ...when(ANY_BIT, NEW_NAMESPACES, [answer(errorOf(EPERM))]),
      answer(ALLOW),
    ]),
    ...when(EQUAL, ioctl, [
      instruction(LOAD, argument(1)),
      ...TYPING.flatMap((request) => deny(request, EPERM)),
      answer(ALLOW),
    ]),
    ...when(EQUAL, personality, [
      instruction(LOAD, argument(0)),
      ...PERSONALITIES.flatMap(allow),
      answer(errorOf(EPERM)),
    ]),
    ...socketRules(more),
    answer(ALLOW),
  ]
}

function socketRules({ socket, socketpair }: Pick<Architecture, 'socket' | 'socketpair'>): Instruction[] {
  const otherFamily = answer(errorOf(EAFNOSUPPORT))
  const internet = [instruction(LOAD, argument(2)), ...PROTOCOLS.flatMap(allow), answer(errorOf(EPROTONOSUPPORT))]
  return [
    ...when(EQUAL, socket, [
      instruction(LOAD, argument(0)),
      ...allow(UNIX),
      ...INTERNET_FAMILIES.flatMap((family) => when(EQUAL, family, internet)),
      ...when(EQUAL, NETLINK, [instruction(LOAD, argument(2)), ...allow(NETLINK_ROUTE), answer(errorOf(EPERM))]),
      otherFamily,
    ]),
    // The kernel creates two sockets of any family, also of one that has no pairs.
    ...when(EQUAL, socketpair, [instruction(LOAD, argument(0)), ...allow(UNIX), otherFamily]),
  ]
}

/** Returns the filter as an array of struct sock_filter. Calls of any other architecture (also `int 0x80`) end the process. */
export function seccompFilter(): Buffer {
  const program: Instruction[] = [instruction(LOAD, ARCHITECTURE)]
  for (const architecture of ARCHITECTURES) {
    const body = filterOf(architecture)
    program.push(instruction(EQUAL, architecture.id, 1, 0), instruction(JUMP, body.length), ...body)
  }
  program.push(answer(KILL))
  const bytes = Buffer.alloc(program.length * 8)
  for (const [index, [code, ifTrue, ifFalse, value]] of program.entries()) {
    bytes.writeUInt16LE(code, index * 8)
    bytes.writeUInt8(ifTrue, index * 8 + 2)
    bytes.writeUInt8(ifFalse, index * 8 + 3)
    bytes.writeUInt32LE(value, index * 8 + 4)
  }
  return bytes
}
