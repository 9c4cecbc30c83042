/** Validates an output (Build Output API, version 3) and compiles its manifest. docs/deploying-sites.md: Validation errors. */

import { type FunctionList, functionLists } from '../functions/file-lists.ts'
import { OUTPUT_LIMITS } from '../protocol/output-limits.ts'
import { isPartial, ROUTING_MANIFEST_VERSION, type RoutingManifest } from '../protocol/routing-manifest.ts'
import { readConfig } from './config-file.ts'
import { addError, createReport, type Report, sentencesOf } from './faults.ts'
import { type Field, parseField, refuseField } from './fields.ts'
import { type Functions, type ReadJson, readFunctions } from './functions.ts'
import { createNotices, type Notice, type NoticeList, type Runs } from './notices.ts'
import { prerenderOf } from './prerenders.ts'
import { staticFilesOf } from './static-files.ts'
import { fileAt, openTree, type Tree, type UploadEntry } from './tree.ts'

const OUTPUT_FOLDER = '.vercel/output/'
const CONFIG_FILE = `${OUTPUT_FOLDER}config.json`

/**
 * An upload. `read` returns the content of a file by path; it is called only for files with a known size within the limits. `runs`: what of an
 * output runs here.
 */
export type Upload = {
  runs?: Runs
  entries: readonly UploadEntry[]
  read(path: string): Promise<Uint8Array>
}

export type Output = { manifest: RoutingManifest; functionLists: FunctionList[]; notices: Notice[] }

/** Returns whether an upload is a build output: clients before 50 do not mark it. docs/deploying-sites.md: Prebuilt uploads. */
export function isPrebuilt(entries: readonly Pick<UploadEntry, 'path'>[]): boolean {
  return entries.some(({ path }) => path === CONFIG_FILE)
}

/** Reads an output. Returns it, or at most 21 error sentences. Works in slices, so a large output does not block other requests. */
export async function readOutput(upload: Upload): Promise<Output | { faults: string[] }> {
  const report = createReport()
  const notices = createNotices(upload.runs)
  const tree = await openTree(upload.entries, report)
  const manifest = report.faults.length === 0 ? await compile(upload, tree, report, notices) : undefined
  if (manifest === undefined || report.faults.length > 0) return { faults: sentencesOf(report) }
  return { ...manifest, notices: notices.list() }
}

async function compile(upload: Upload, tree: Tree, report: Report, notices: NoticeList) {
  const readJson = jsonReader(upload, tree, report)
  const configFile = await readJson(CONFIG_FILE, OUTPUT_LIMITS.configBytes)
  const config = configFile && (await readConfig(configFile, notices))
  if (configFile === undefined || config === undefined) return undefined
  const { overrides, ...rest } = config
  const directory = `${OUTPUT_FOLDER}functions/`
  const functions = await readFunctions(tree, directory, readJson, report, notices)
  const lists = await functionLists(functions, directory, report)
  refuseUnknownMiddleware(config.phases.none, functions, configFile, notices)
  const manifest: RoutingManifest = {
    version: ROUTING_MANIFEST_VERSION,
    ...rest,
    files: await staticFilesOf(tree, `${OUTPUT_FOLDER}static/`, overrides, report, notices),
    functions: functions.bundles,
    functionPaths: await functionPathsOf(functions, tree, directory, readJson, notices),
  }
  const bytes = Buffer.byteLength(JSON.stringify(manifest))
  if (bytes > OUTPUT_LIMITS.manifestBytes) {
    const max = OUTPUT_LIMITS.manifestBytes
    addError(
      report,
      CONFIG_FILE,
      '',
      `and the files of the output make a routing manifest of ${bytes} bytes. At most ${max} are allowed.`,
    )
  }
  return { manifest, functionLists: lists }
}

/** Reads JSON of the upload. Config files of functions share a budget. */
function jsonReader({ read }: Upload, tree: Tree, report: Report): ReadJson {
  let left: number = OUTPUT_LIMITS.functionConfigsBytes
  return async (path, max) => {
    const file = fileAt(tree, path)
    const field: Field = { report, file: path, name: '', value: undefined }
    if (file === undefined) return refuseField(field, 'is missing.')
    if (file.size > max) return refuseField(field, `has ${file.size} bytes. At most ${max} are allowed.`)
    left -= path === CONFIG_FILE ? 0 : file.size
    if (left < 0) return refuseField(field, 'and the files like it have too many bytes together.')
    return parseField(field, await read(file.path))
  }
}

function refuseUnknownMiddleware(
  routes: RoutingManifest['phases']['none'],
  { paths }: Functions,
  config: Field,
  notices: NoticeList,
): void {
  for (const { rule, middleware } of routes) {
    if (middleware === undefined) continue
    const field = { ...config, name: `routes[${rule}].middlewarePath` }
    if (paths.has(middleware.replace(/^\//, ''))) notices.add('middleware_not_run', middleware)
    else refuseField(field, `names ${middleware}, which is not a function of the output.`)
  }
}

async function functionPathsOf(
  { paths }: Functions,
  tree: Tree,
  directory: string,
  readJson: ReadJson,
  notices: NoticeList,
): Promise<RoutingManifest['functionPaths']> {
  const functionPaths: RoutingManifest['functionPaths'] = []
  for (const [name, bundle] of paths) {
    const path = `${directory}${name}.prerender-config.json`
    const config = fileAt(tree, path) && (await readJson(path, OUTPUT_LIMITS.functionConfigBytes))
    const prerender = config && prerenderOf(config, tree, directory, notices)
    if (prerender !== undefined && isPartial(prerender)) notices.add('pages_not_partial', `/${name}`)
    functionPaths.push({ path: `/${name}`, bundle, ...(prerender && { prerender }) })
  }
  return functionPaths
}
