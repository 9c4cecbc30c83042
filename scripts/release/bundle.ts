/** The whole program as one file of plain JavaScript. */
import { isBuiltin } from 'node:module'
import { join, relative } from 'node:path'
import { type Plugin, rolldown } from 'rolldown'
import { SHIPPED_FILES, SHIPPED_FONTS, shippedFile, shippedFont } from '../../src/platform/base/shipped-files.ts'

/** `packages`: the folders of the packages that are in it, from the root. */
export type Bundle = { code: string; packages: string[] }

/** What the bundle of the npm package gives to others, and what the executable does. */
export const PACKAGE_ENTRY = `export { main } from './src/main.ts'\nexport { startBerth } from './src/start-berth.ts'\n`
export const EXECUTABLE_ENTRY = `import { main } from './src/main.ts'\nawait main()\n`

const root = join(import.meta.dirname, '..', '..')
const ENTRY = join(root, 'entry.ts')
/** Packages of CommonJS ask for modules of the runtime by `require`, which modules lack. */
const BANNER = `import { createRequire as requireOf } from 'node:module'\nconst require = requireOf(import.meta.url)\n`

/** Bundles an entry. `version`: what the program says that it is. The same sources give the same bytes, wherever they lie. Throws when a package is not installed. */
export async function bundle(entry: string, version: string): Promise<Bundle> {
  const worker = await bundleWorker()
  const launcher = await bundleForSandbox('launcher/main.ts')
  const maker = await bundleForSandbox('sites/pictures/maker.ts')
  const build = await rolldown({
    cwd: root,
    input: ENTRY,
    platform: 'node',
    // An optional part of the PostgreSQL driver, which Berth has not.
    external: ['pg-native'],
    plugins: [textsInside(entry, version, { worker, launcher, maker })],
    logLevel: 'silent',
  })
  const { output } = await build.generate({ format: 'esm', codeSplitting: false, banner: BANNER, comments: false })
  await build.close()
  const [chunk] = output
  // What is imported later is in the same file.
  const known = ['pg-native', chunk.fileName]
  const outside = [...chunk.imports, ...chunk.dynamicImports].filter(
    (name) => !isBuiltin(name) && !known.includes(name),
  )
  if (outside.length > 0) throw new Error(`not installed, so the bundle would lack it: ${outside.join(', ')}`)
  const inside = chunk.moduleIds.flatMap(
    (path) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(relative(root, path)) ?? [],
  )
  return { code: chunk.code, packages: [...new Set([...inside, ...BROWSER_PACKAGES])].sort() }
}

/** Their files are shipped as texts, so no module of them is bundled. */
const BROWSER_PACKAGES = ['node_modules/@hotwired/turbo', 'node_modules/@simplewebauthn/browser']

/** The code of a routing worker, which is started from a text. */
async function bundleWorker(): Promise<string> {
  const input = join(root, 'src', 'sites', 'routing-pool', 'worker-main.ts')
  const build = await rolldown({ cwd: root, input, platform: 'node', logLevel: 'silent' })
  const { output } = await build.generate({ format: 'cjs', codeSplitting: false, comments: false, minify: true })
  await build.close()
  const [chunk] = output
  const outside = chunk.imports.filter((name) => !isBuiltin(name))
  if (outside.length > 0) throw new Error(`not installed, so the worker would lack it: ${outside.join(', ')}`)
  return chunk.code
}

/** The launcher of functions, and what makes pictures, which older versions of Node.js run. */
async function bundleForSandbox(file: string): Promise<string> {
  const input = join(root, 'src', file)
  const build = await rolldown({ cwd: root, input, platform: 'node', logLevel: 'silent' })
  const { output } = await build.generate({ format: 'esm', codeSplitting: false, comments: false })
  await build.close()
  const outside = output[0].imports.filter((name) => !isBuiltin(name))
  if (outside.length > 0) throw new Error(`${file} imports what a sandbox lacks: ${outside.join(', ')}`)
  return output[0].code
}

/** The entry, and the texts of all shipped files in the place of the module that reads them. */
function textsInside(
  entry: string,
  version: string,
  { worker, launcher, maker }: { worker: string; launcher: string; maker: string },
): Plugin {
  return {
    name: 'texts inside',
    resolveId: (name) => (name === ENTRY ? ENTRY : undefined),
    load(path) {
      if (path === ENTRY) return entry
      if (path !== join(root, 'src', 'platform', 'base', 'shipped-files.ts')) return undefined
      // Each text in a function: an unused one takes no memory.
      const texts = SHIPPED_FILES.map((name) => {
        const text = name === 'package' ? JSON.stringify({ name: 'berth', version }) : shippedFile(name)
        return `  ${JSON.stringify(name)}: () => ${JSON.stringify(text)},\n`
      })
      const fonts = SHIPPED_FONTS.map(
        (name) => `  ${JSON.stringify(name)}: () => ${JSON.stringify(shippedFont(name).toString('base64'))},\n`,
      )
      return [
        `const TEXTS = {\n${texts.join('')}}`,
        `const FONTS = {\n${fonts.join('')}}`,
        'export const shippedFile = (name) => TEXTS[name]()',
        "export const shippedFont = (name) => Buffer.from(FONTS[name](), 'base64')",
        `export const workerCode = () => ${JSON.stringify(worker)}`,
        `export const launcherModules = () => ({ 'main.mjs': ${JSON.stringify(launcher)} })`,
        `export const pictureMaker = () => ${JSON.stringify(maker)}\n`,
      ].join('\n')
    },
  }
}
