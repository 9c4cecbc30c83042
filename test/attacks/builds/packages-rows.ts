/** TABLE registries that are slow or unavailable, and lockfiles that lie: what a build that installs packages says then. docs/building.md: Errors. */
import { integrityOf, registryAt, tarballOf } from './packages.ts'

export type InstallRow = {
  /** The `.npmrc` of the source. */
  settings: string
  files?: Readonly<Record<string, string>>
  packageManager?: string
  /** Seconds that the build has. */
  seconds?: number
  code: 'BUILD_FAILED' | 'BUILD_TIMED_OUT'
  /** What the reason of the failure has. */
  message: RegExp
}

/** One try, which is given up soon. npm's own are three, of five minutes each. */
const SOON = 'fetch-retries=0\nfetch-timeout=4000\n'
const at = (name: string, port?: number) => `registry=${registryAt(name, port)}\n`

/** Port at which nothing listens. */
const CLOSED = 4874

function packageLock(resolved: string, integrity = integrityOf(tarballOf('one'))): Record<string, string> {
  const top = { name: 'page', dependencies: { one: '1.0.0' } }
  const one = { version: '1.0.0', resolved, integrity }
  const lock = { name: 'page', lockfileVersion: 3, requires: true, packages: { '': top, 'node_modules/one': one } }
  return { 'package-lock.json': JSON.stringify(lock) }
}

const OTHER = integrityOf(Buffer.from('something else'))
const TARBALL = `${registryAt('good')}one/-/one-1.0.0.tgz`

function pnpmLock(integrity: string): Record<string, string> {
  const text = `lockfileVersion: '9.0'
importers:
  .:
    dependencies:
      one:
        specifier: 1.0.0
        version: 1.0.0
packages:
  one@1.0.0:
    resolution: {integrity: ${integrity}}
snapshots:
  one@1.0.0: {}
`
  return { 'pnpm-lock.yaml': text }
}

function yarnLock(integrity: string): Record<string, string> {
  const text = `# yarn lockfile v1

one@1.0.0:
  version "1.0.0"
  resolved "${TARBALL}"
  integrity ${integrity}
`
  return { 'yarn.lock': text }
}

/** An address that a lock names, and what npm says of it. */
const named = (address: string, said: RegExp): InstallRow => ({
  settings: SOON,
  files: packageLock(`http://${address}/one.tgz`),
  code: 'BUILD_FAILED',
  message: said,
})

export const INSTALLS: Readonly<Record<string, InstallRow>> = {
  'a registry at which nothing listens': {
    settings: SOON + at('good', CLOSED),
    code: 'BUILD_FAILED',
    // Pasta does not pass a refusal on in each version.
    message: /connect E(?:CONNREFUSED|TIMEDOUT) 192\.88\.7\.7:4874/,
  },
  'a registry whose name is unknown': {
    settings: `${SOON}registry=http://nowhere.test/\n`,
    code: 'BUILD_FAILED',
    message: /ENOTFOUND/,
  },
  'a registry that answers nothing': {
    settings: SOON + at('silent'),
    code: 'BUILD_FAILED',
    message: /network timeout/,
  },
  'a registry that answers nothing, and npm as it is': {
    settings: at('silent'),
    seconds: 40,
    code: 'BUILD_TIMED_OUT',
    message: /The build took longer than 1 minute and was ended\./,
  },
  'a registry that stops within a package': {
    settings: SOON + at('half'),
    code: 'BUILD_FAILED',
    message: /Idle timeout reached/,
  },
  'a registry that never ends a package': {
    settings: SOON + at('endless'),
    seconds: 40,
    code: 'BUILD_TIMED_OUT',
    message: /The build took longer than 1 minute and was ended\./,
  },
  'a registry that sends another package': {
    settings: SOON + at('other'),
    code: 'BUILD_FAILED',
    message: /EINTEGRITY/,
  },
  'a lock with another hash': {
    settings: SOON,
    files: packageLock(TARBALL, OTHER),
    code: 'BUILD_FAILED',
    message: /EINTEGRITY/,
  },
  'a lock of pnpm with another hash': {
    settings: SOON,
    files: pnpmLock(OTHER),
    code: 'BUILD_FAILED',
    message: /ERR_PNPM_TARBALL_INTEGRITY/,
  },
  'a lock of yarn with another hash': {
    settings: SOON,
    files: yarnLock(OTHER),
    code: 'BUILD_FAILED',
    message: /Integrity check failed for "one"/,
  },
  'a lock of yarn, and a package.json that says npm': {
    settings: SOON,
    files: yarnLock(integrityOf(tarballOf('one'))),
    packageManager: 'npm@10.9.0',
    code: 'BUILD_FAILED',
    message: /packageManager/,
  },
  'a lock of pnpm, and a package.json that says yarn': {
    settings: SOON,
    files: pnpmLock(integrityOf(tarballOf('one'))),
    packageManager: 'yarn@1.22.22',
    code: 'BUILD_FAILED',
    message: /configured to use yarn/,
  },
  'a lock with an address of loopback': named('127.0.0.1:3000', /ECONNREFUSED/),
  // Pasta gives it to the sandbox itself.
  'a lock with an address of the host': named('198.51.100.2:3000', /ECONNREFUSED/),
  'a lock with an address of the metadata service': named('169.254.169.254', /EHOSTUNREACH/),
  'a lock with an address of a private network': named('10.9.9.9', /EHOSTUNREACH/),
  'a lock with a name for an address of the host': named('host.test:3000', /EHOSTUNREACH/),
}
