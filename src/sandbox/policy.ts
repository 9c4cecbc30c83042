/** `internet`: public addresses over TCP and UDP, and DNS. `allow`: also these addresses and prefixes, such as a private registry's; never those of this host and its gateways. */
export type Network = 'none' | 'internet' | { allow: readonly string[] }

/** Absolute paths are of the host unless a comment says otherwise. */
export type Policy = {
  command: readonly [program: string, ...words: string[]]
  /** The whole environment of the command: nothing of the service's own is passed on. */
  env: Readonly<Record<string, string>>
  /** The one writable directory, at `/work` inside. Undefined: only the limited `/tmp` is writable. */
  workDirectory: string | undefined
  /** What is readable in addition to the system. The command finds each at `Sandbox.inside(path)`. They must not hold sockets. */
  readOnly: readonly string[]
  /** The same at fixed places: path inside → path of the host. The command finds each at `Sandbox.mounted(…)`. */
  readOnlyAt?: Readonly<Record<string, string>>
  network: Network
  /** A path inside. */
  currentDirectory: string
  limits: Limits
}

/** What one command can use. A build is also watched: docs/runner.md. */
export type Limits = {
  /** Processes and threads of this sandbox, counted within its own user namespace. */
  processes: number
  openFiles: number
  /** Bytes of one file. The sum is not limited here. */
  fileBytes: number
  /** Programs reserve much more than they use, and Chromium needs 128 GiB: it stops nonsense, not a memory eater. */
  addressSpaceBytes: number
  tmpBytes: number
  sharedMemoryBytes: number
  /** Of all processes, with `/tmp` and what is kept of files. Holds where there is a control group. */
  memoryBytes: number
  /** Of 1 to 10,000, where the service itself has 100. Holds where there is a control group. */
  processorWeight: number
}

const MIB = 1024 * 1024

/** Enough for Node with workers, `npm ci`, the builds of the usual frameworks, and Chromium. */
export const DEFAULT_LIMITS: Limits = {
  processes: 256,
  openFiles: 4096,
  fileBytes: 2048 * MIB,
  addressSpaceBytes: 256 * 1024 * MIB,
  tmpBytes: 256 * MIB,
  sharedMemoryBytes: 64 * MIB,
  memoryBytes: 4096 * MIB,
  processorWeight: 20,
}
