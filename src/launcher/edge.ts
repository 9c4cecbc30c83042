/** Loads edge functions, which run in this process of Node.js with the globals that they expect. docs/functions.md: Edge functions. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { existsSync, readFileSync } from 'node:fs'
import { createRequire, registerHooks } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { compileFunction, constants } from 'node:vm'

/** A global of Node.js that its types leave to those of browsers. */
declare const WebAssembly: { Module: new (bytes: Uint8Array) => object }

/** TABLE parameters of a CommonJS module. */
const PARAMETERS = ['exports', 'require', 'module', '__filename', '__dirname']

/** Loads a module of either form, whatever the package.json next to it says of its form. Returns its exports. `directory`: of the function. */
export async function importEdge(file: string, directory: string): Promise<unknown> {
  const require = requireIn(directory, file)
  Object.assign(globalThis, { self: globalThis, EdgeRuntime: 'edge-runtime', AsyncLocalStorage, require })
  fetchFilesOf(directory)
  const run = asCommonJs(readFileSync(file, 'utf8'), file)
  if (run === undefined) return importModule(pathToFileURL(file).href)
  const module = { exports: {} }
  run(module.exports, require, module, file, dirname(file))
  return module.exports
}

/** Next.js names its compiled modules by their place in the function: `/wasm/a.wasm`. */
function requireIn(directory: string, file: string): (id: string) => unknown {
  const own = createRequire(file)
  const require = (id: string) => {
    if (/^\/wasm\/[^/]+\.wasm$/.test(id)) return new WebAssembly.Module(readFileSync(join(directory, id)))
    return id.endsWith(COMPILED) ? new WebAssembly.Module(readFileSync(own.resolve(withoutQuery(id)))) : own(id)
  }
  return Object.assign(require, own)
}

/** Lets `fetch` find assets and fonts of the function, and no other file: a visitor may have chosen the address. */
function fetchFilesOf(directory: string): void {
  const own = globalThis.fetch
  globalThis.fetch = async function fetch(input, init) {
    const path = fileOf(directory, input instanceof Request ? input.url : String(input))
    return path === undefined ? own(input, init) : new Response(readFileSync(path))
  }
}

/** Next.js writes `blob:` and a name of `assets/` for an imported file. Other modules have fonts next to them. */
function fileOf(directory: string, address: string): string | undefined {
  const [, name, font] = /^(?:blob:(.+)|(file:.+\.(?:otf|ttf|woff2?)))$/i.exec(address) ?? []
  const [place, path] = font === undefined ? ['assets', join(directory, 'assets', name ?? '')] : ['', pathOf(font)]
  const isInside = (name ?? font) !== undefined && path.startsWith(`${join(directory, place)}/`)
  return isInside && existsSync(path) ? path : undefined
}

function pathOf(address: string): string {
  return URL.canParse(address) ? fileURLToPath(address) : ''
}

/** Undefined for an ES module: CommonJS has neither `import` nor `export`. */
function asCommonJs(source: string, filename: string): ((...words: unknown[]) => void) | undefined {
  try {
    const importModuleDynamically = constants.USE_MAIN_CONTEXT_DEFAULT_LOADER
    return compileFunction(source, PARAMETERS, { filename, importModuleDynamically }) as (...words: unknown[]) => void
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

function importModule(href: string): Promise<unknown> {
  registerHooks({
    load(url, context, next) {
      if (url.endsWith(COMPILED)) return { format: 'module', source: wasmModule(url), shortCircuit: true }
      return next(url, url === href ? { ...context, format: 'module' } : context)
    },
  })
  return import(href)
}

/** The end of what is imported as a compiled module. */
const COMPILED = '.wasm?module'

function withoutQuery(id: string): string {
  return id.slice(0, id.lastIndexOf('?'))
}

function wasmModule(url: string): string {
  const file = JSON.stringify(withoutQuery(url))
  return `import { readFileSync } from 'node:fs'\nexport default new WebAssembly.Module(readFileSync(new URL(${file})))`
}
