/**
 * Reads an uploaded output (Build Output API, version 3), before anything of it is kept for visitors: names and links that cannot be
 * kept, configuration that cannot be followed, and what is over budget are refused with a sentence for each. It gives what the sites
 * server needs: the routing manifest, and the files of each function. docs/deploying-sites.md: What is refused.
 */
import { OUTPUT_LIMITS } from '../protocol/output-limits.ts'
import { ROUTING_MANIFEST_VERSION, type RoutingManifest } from '../protocol/routing-manifest.ts'
import { readConfig } from './config-file.ts'
import { addFault, openReport, type Report, sentencesOf } from './faults.ts'
import { type Field, parseField, refuseField } from './fields.ts'
import { type FunctionFiles, type Functions, type ReadJson, readFunctions } from './functions.ts'
import { type Notice, type NoticeList, openNotices } from './notices.ts'
import { prerenderOf } from './prerenders.ts'
import { staticFilesOf } from './static-files.ts'
import { fileAt, openTree, type Tree, type UploadEntry } from './tree.ts'

/** Where clients put an output, from the project folder. */
const OUTPUT_FOLDER = '.vercel/output/'
const CONFIG_FILE = `${OUTPUT_FOLDER}config.json`

/** What was uploaded. `read` gives the content of a file by its path; it is asked only for files of a known size within the limits. */
export type Upload = {
  entries: readonly UploadEntry[]
  read(path: string): Promise<Uint8Array>
}

export type Output = { manifest: RoutingManifest; functionFiles: FunctionFiles[]; notices: Notice[] }

/** Whether an upload is a build and not a source: clients before 50 do not say it. docs/deploying-sites.md: Prebuilt uploads. */
export function isPrebuilt(entries: readonly Pick<UploadEntry, 'path'>[]): boolean {
  return entries.some(({ path }) => path === CONFIG_FILE)
}

/** Reads an output. Gives it, or the sentences about its faults, of which there are 21 at the most. Works in pieces: nobody waits for a large one. */
export async function readOutput(upload: Upload): Promise<Output | { faults: string[] }> {
  const report = openReport()
  const notices = openNotices()
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
  const { overrides, ...kept } = config
  const folder = `${OUTPUT_FOLDER}functions/`
  const functions = await readFunctions(tree, folder, readJson, report, notices)
  refuseUnknownMiddleware(config.phases.none, functions, configFile, notices)
  const manifest: RoutingManifest = {
    version: ROUTING_MANIFEST_VERSION,
    ...kept,
    files: await staticFilesOf(tree, `${OUTPUT_FOLDER}static/`, overrides, report, notices),
    functions: functions.bundles,
    functionPaths: await functionPathsOf(functions, tree, folder, readJson, notices),
  }
  const bytes = Buffer.byteLength(JSON.stringify(manifest))
  if (bytes > OUTPUT_LIMITS.manifestBytes) {
    const most = OUTPUT_LIMITS.manifestBytes
    addFault(
      report,
      CONFIG_FILE,
      '',
      `and the files of the output make a routing manifest of ${bytes} bytes. At most ${most} are allowed.`,
    )
  }
  return { manifest, functionFiles: functions.files }
}

/** Reads JSON of the upload. The files beside functions share a budget. */
function jsonReader({ read }: Upload, tree: Tree, report: Report): ReadJson {
  let left: number = OUTPUT_LIMITS.functionConfigsBytes
  return async (path, most) => {
    const file = fileAt(tree, path)
    const field: Field = { report, file: path, name: '', value: undefined }
    if (file === undefined) return refuseField(field, 'is missing.')
    if (file.size > most) return refuseField(field, `has ${file.size} bytes. At most ${most} are allowed.`)
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
    else refuseField(field, `names ${middleware}, which is no function of the output.`)
  }
}

async function functionPathsOf(
  { paths }: Functions,
  tree: Tree,
  folder: string,
  readJson: ReadJson,
  notices: NoticeList,
): Promise<RoutingManifest['functionPaths']> {
  const functionPaths: RoutingManifest['functionPaths'] = []
  for (const [name, bundle] of paths) {
    const path = `${folder}${name}.prerender-config.json`
    const config = fileAt(tree, path) && (await readJson(path, OUTPUT_LIMITS.functionConfigBytes))
    const prerender = config && prerenderOf(config, tree, folder, notices)
    functionPaths.push({ path: `/${name}`, bundle, ...(prerender && { prerender }) })
  }
  return functionPaths
}
