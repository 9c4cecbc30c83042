import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const { platform, arch } = process
const PACKAGE = `node-${platform === 'darwin' && arch === 'arm64' ? 'bin-' : ''}${platform === 'win32' ? 'win' : platform}-${arch}`

/** The Node.js that Berth brings for this machine. npm takes its package only with the SHA-512 of the lock file. docs/decisions/0001. */
export const RUNTIME = join(
  fileURLToPath(new URL('../node_modules', import.meta.url)),
  PACKAGE,
  'bin',
  platform === 'win32' ? 'node.exe' : 'node',
)
