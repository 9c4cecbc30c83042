/** Loads edge functions, which run in this process of Node.js with the globals that they expect. docs/functions.md: Edge functions. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { readFileSync } from 'node:fs'
import { createRequire, registerHooks } from 'node:module'
import { dirname } from 'node:path'
import { pathToFileURL } from 'node:url'
import { compileFunction, constants } from 'node:vm'

/** TABLE parameters of a CommonJS module. */
const PARAMETERS = ['exports', 'require', 'module', '__filename', '__dirname']

/** Loads a module of either form, whatever the package.json next to it says of its form. Returns its exports. */
export async function importEdge(file: string): Promise<unknown> {
  const require = createRequire(file)
  Object.assign(globalThis, { self: globalThis, EdgeRuntime: 'edge-runtime', AsyncLocalStorage, require })
  const run = asCommonJs(readFileSync(file, 'utf8'), file)
  if (run === undefined) return importModule(pathToFileURL(file).href)
  const module = { exports: {} }
  run(module.exports, require, module, file, dirname(file))
  return module.exports
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
      if (url.endsWith('.wasm?module')) return { format: 'module', source: wasmModule(url), shortCircuit: true }
      return next(url, url === href ? { ...context, format: 'module' } : context)
    },
  })
  return import(href)
}

/** An import of `file.wasm?module` gives a compiled module. */
function wasmModule(url: string): string {
  const file = JSON.stringify(url.replace(/\?module$/, ''))
  return `import { readFileSync } from 'node:fs'\nexport default new WebAssembly.Module(readFileSync(new URL(${file})))`
}
