/** Files that the program reads next to its code. In a bundle this module holds their texts (scripts/release/bundle.ts). docs/releasing.md. */
import { readdirSync, readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'

/** TABLE Shipped files */
const FILES = {
  package: () => new URL('../../../package.json', import.meta.url),
  'API examples': () => new URL('../openapi/examples.json', import.meta.url),
  'event examples': () => new URL('../openapi/event-examples.json', import.meta.url),
  'SDK calls': () => new URL('../openapi/sdk-calls.json', import.meta.url),
  turbo: () => new URL(import.meta.resolve('@hotwired/turbo/dist/turbo.es2017-esm.js')),
  // The package exports only modules, so the browser file is resolved from them.
  passkeys: () => new URL('../dist/bundle/index.umd.min.js', import.meta.resolve('@simplewebauthn/browser')),
  stylesheet: () => new URL('../pages/assets/face.css', import.meta.url),
  mark: () => new URL('../pages/assets/mark.svg', import.meta.url),
  'live script': () => new URL('../pages/assets/live-script.js', import.meta.url),
  'log script': () => new URL('../pages/assets/log-script.js', import.meta.url),
  'search script': () => new URL('../pages/assets/search-script.js', import.meta.url),
  'controls script': () => new URL('../pages/assets/controls-script.js', import.meta.url),
  'keys script': () => new URL('../pages/assets/keys-script.js', import.meta.url),
  'keep script': () => new URL('../pages/assets/keep-script.js', import.meta.url),
  'drop script': () => new URL('../pages/assets/drop-script.js', import.meta.url),
  'builder manifest': () => new URL('../../runner/toolchain/builder/package.json', import.meta.url),
  'builder lock': () => new URL('../../runner/toolchain/builder/package-lock.json', import.meta.url),
  'node-22 manifest': () => new URL('../../runner/toolchain/node-22/package.json', import.meta.url),
  'node-22 lock': () => new URL('../../runner/toolchain/node-22/package-lock.json', import.meta.url),
  'node-24 manifest': () => new URL('../../runner/toolchain/node-24/package.json', import.meta.url),
  'node-24 lock': () => new URL('../../runner/toolchain/node-24/package-lock.json', import.meta.url),
  'npm-10 manifest': () => new URL('../../runner/toolchain/npm-10/package.json', import.meta.url),
  'npm-10 lock': () => new URL('../../runner/toolchain/npm-10/package-lock.json', import.meta.url),
  'npm-11 manifest': () => new URL('../../runner/toolchain/npm-11/package.json', import.meta.url),
  'npm-11 lock': () => new URL('../../runner/toolchain/npm-11/package-lock.json', import.meta.url),
  'pnpm-7 manifest': () => new URL('../../runner/toolchain/pnpm-7/package.json', import.meta.url),
  'pnpm-7 lock': () => new URL('../../runner/toolchain/pnpm-7/package-lock.json', import.meta.url),
  'pnpm-8 manifest': () => new URL('../../runner/toolchain/pnpm-8/package.json', import.meta.url),
  'pnpm-8 lock': () => new URL('../../runner/toolchain/pnpm-8/package-lock.json', import.meta.url),
  'pnpm-10 manifest': () => new URL('../../runner/toolchain/pnpm-10/package.json', import.meta.url),
  'pnpm-10 lock': () => new URL('../../runner/toolchain/pnpm-10/package-lock.json', import.meta.url),
  'yarn-1 manifest': () => new URL('../../runner/toolchain/yarn-1/package.json', import.meta.url),
  'yarn-1 lock': () => new URL('../../runner/toolchain/yarn-1/package-lock.json', import.meta.url),
  'corepack manifest': () => new URL('../../runner/toolchain/corepack/package.json', import.meta.url),
  'corepack lock': () => new URL('../../runner/toolchain/corepack/package-lock.json', import.meta.url),
  'pictures manifest': () => new URL('../../runner/toolchain/pictures/package.json', import.meta.url),
  'pictures lock': () => new URL('../../runner/toolchain/pictures/package-lock.json', import.meta.url),
  'docs/backup.md': () => new URL('../../../docs/backup.md', import.meta.url),
  'docs/building.md': () => new URL('../../../docs/building.md', import.meta.url),
  'docs/deploying.md': () => new URL('../../../docs/deploying.md', import.meta.url),
  'docs/deploying-sites.md': () => new URL('../../../docs/deploying-sites.md', import.meta.url),
  'docs/domains.md': () => new URL('../../../docs/domains.md', import.meta.url),
  'docs/operations.md': () => new URL('../../../docs/operations.md', import.meta.url),
  'docs/runner.md': () => new URL('../../../docs/runner.md', import.meta.url),
  'docs/sandbox.md': () => new URL('../../../docs/sandbox.md', import.meta.url),
  'docs/scaling.md': () => new URL('../../../docs/scaling.md', import.meta.url),
  'docs/tls.md': () => new URL('../../../docs/tls.md', import.meta.url),
  'docs/upgrading.md': () => new URL('../../../docs/upgrading.md', import.meta.url),
  'docs/variables.md': () => new URL('../../../docs/variables.md', import.meta.url),
} satisfies Record<string, () => URL>

/** TABLE Shipped fonts */
const FONTS = {
  'hanken-grotesk': () => new URL('../pages/assets/hanken-grotesk.woff2', import.meta.url),
  'geist-mono': () => new URL('../pages/assets/geist-mono.woff2', import.meta.url),
} satisfies Record<string, () => URL>

export type ShippedFile = keyof typeof FILES
export type ShippedFont = keyof typeof FONTS

export const SHIPPED_FILES = Object.keys(FILES) as ShippedFile[]
export const SHIPPED_FONTS = Object.keys(FONTS) as ShippedFont[]

/** Returns the text of a shipped file. */
export function shippedFile(name: ShippedFile): string {
  return readFileSync(FILES[name](), 'utf8')
}

/** Returns the bytes of a shipped font. */
export function shippedFont(name: ShippedFont): Buffer {
  return readFileSync(FONTS[name]())
}

/** Returns the code of a routing worker, for a thread that is started from text. */
export function workerCode(): string {
  const main = new URL('../../sites/routing-pool/worker-main.ts', import.meta.url)
  return `import(${JSON.stringify(main)})`
}

/** Returns the modules of the launcher by file name, for Node.js without types. The first is `main.mjs`. docs/functions.md: Launcher. */
export function launcherModules(): Record<string, string> {
  const directory = new URL('../../launcher/', import.meta.url)
  const names = readdirSync(directory).filter((name) => name.endsWith('.ts'))
  return Object.fromEntries(
    names.map((name) => [withoutTypes(name), modules(readFileSync(new URL(name, directory), 'utf8'))]),
  )
}

/** Returns the module that makes a picture, for Node.js without types. docs/pictures.md: Sandbox. */
export function pictureMaker(): string {
  return modules(readFileSync(new URL('../../sites/pictures/maker.ts', import.meta.url), 'utf8'))
}

function withoutTypes(name: string): string {
  return name.replace(/\.ts$/, '.mjs')
}

function modules(source: string): string {
  const { emitWarning } = process
  // That the function is experimental is known, and no matter of the operator.
  process.emitWarning = () => {}
  try {
    return stripTypeScriptTypes(source).replace(/(from '\.\/[\w-]+)\.ts'/g, "$1.mjs'")
  } finally {
    process.emitWarning = emitWarning
  }
}
