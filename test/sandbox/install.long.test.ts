/** What builds do works inside, over the network of this machine: packages are installed, and Node runs with workers. docs/sandbox.md. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { dirname, resolve } from 'node:path'
import { test } from 'node:test'
import { labSkipReason, openLab } from './lab.ts'

const NODE = dirname(dirname(process.execPath))

/** The registry and the certificates of this machine's npm. */
function registry(): string | undefined {
  const { stdout } = spawnSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' })
  const url = URL.parse(stdout?.trim() ?? '')
  if (url === null) return undefined
  const words = ['ping', '--fetch-timeout=30000', '--fetch-retries=0']
  const { status } = spawnSync('npm', words, { stdio: 'ignore' })
  return status === 0 ? url.href : undefined
}

const found = labSkipReason() === false ? registry() : undefined
const skip =
  labSkipReason() || (found === undefined ? 'no npm registry answers, so nothing is known of installs' : false)
if (skip !== false) console.error(`SKIPPED: ${skip}`)

const NPM = spawnSync('sh', ['-c', 'realpath "$(command -v npm)"'], { encoding: 'utf8' }).stdout.trim()
const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt'

const SCRIPT = `set -e
cat > package.json <<'END'
{ "name": "inside", "version": "1.0.0", "dependencies": { "picocolors": "1.1.1" } }
END
npm install --no-audit --no-fund
rm -r node_modules
npm ci --no-audit --no-fund
node -e 'console.log("installed", typeof require("picocolors").red)'
node -e 'new (require("worker_threads").Worker)("require(\\"worker_threads\\").parentPort.postMessage(7)", { eval: true }).on("message", (n) => console.log("worker", n))'
`

test('npm installs a package over the network, and Node runs with workers', { skip, timeout: 300_000 }, async (t) => {
  const lab = await openLab(t, true)
  const npm = resolve(NPM, '../..')
  const env = {
    PATH: `/host${NODE}/bin:/usr/bin`,
    HOME: '/tmp',
    npm_config_registry: found!,
    NODE_EXTRA_CA_CERTS: CERTIFICATES,
  }
  const script = `npm() { node /host${npm}/bin/npm-cli.js "$@"; }\n${SCRIPT}`
  const { output, code } = await lab.inSandbox(script, { env, readOnly: [NODE, npm] })
  assert.equal(code, 0, output)
  assert.match(output, /installed function/)
  assert.match(output, /worker 7/)
})
