/** Files that a sandbox reads: its own in `/etc`, those of the first process, and others that are placed for its user. */
import { chmodSync, constants, mkdirSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { seccompFilter } from './seccomp.ts'

const FILTER = seccompFilter()

/** The name of the user and the group inside. */
const [NAME, ID] = ['berth', 1000]

const FILES: Readonly<Record<string, string>> = {
  hosts: '127.0.0.1 localhost\n::1 localhost\n',
  passwd: `root:x:0:0::/:/bin/sh\n${NAME}:x:${ID}:${ID}::/work:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n`,
  group: `root:x:0:\n${NAME}:x:${ID}:\nnogroup:x:65534:\n`,
}

export type OwnFiles = {
  /** Path inside → path of the host. */
  mounts: Record<string, string>
  filter: string
  rules: string | undefined
}

/** Writes the files into a directory that it creates, readable by every user: they hold no secret. `network`: undefined for none, without rules where those are in force already. */
export function writeOwnFiles(
  directory: string,
  network: { dnsAddress: string; rules: string | undefined } | undefined,
): OwnFiles {
  mkdirSync(directory)
  // Whatever the umask of the service.
  chmodSync(directory, 0o755)
  const write = (name: string, content: string | Buffer) => {
    const path = join(directory, name)
    writeFileSync(path, content, { flag: 'wx' })
    chmodSync(path, 0o644)
    return path
  }
  const files = network === undefined ? FILES : { ...FILES, 'resolv.conf': `nameserver ${network.dnsAddress}\n` }
  const mounts: Record<string, string> = {}
  for (const [name, content] of Object.entries(files)) mounts[`/etc/${name}`] = write(name, content)
  const filter = write('filter.bpf', FILTER)
  const rules = network?.rules === undefined ? undefined : write('rules.nft', network.rules)
  return { mounts, filter, rules }
}

/** Creates a file that users of sandboxes can read. Throws where something is there already, which may be a link. */
export async function createReadableFile(
  path: string,
  content: Buffer | AsyncIterable<Buffer>,
  mode: 0o444 | 0o555 = 0o444,
): Promise<void> {
  const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants
  const handle = await open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode)
  try {
    await handle.writeFile(content)
    await handle.chmod(mode)
  } finally {
    await handle.close()
  }
}
