/** Functions of an output: their folders (`.func`), links between them, and required project files. */
import { mapInSlices } from '../../platform/base/event-loop.ts'
import type { FunctionFiles } from '../protocol/function-files.ts'
import { OUTPUT_LIMITS } from '../protocol/output-limits.ts'
import type { FunctionBundle } from '../protocol/routing-manifest.ts'
import { addError, type Report } from './faults.ts'
import {
  choiceOf,
  defined,
  entriesOf,
  type Field,
  flagOf,
  integerOf,
  isObject,
  member,
  refuseField,
  required,
  textOf,
} from './fields.ts'
import type { NoticeList } from './notices.ts'
import { linkTarget, pathError } from './paths.ts'
import { fileAt, linkEnd, type Tree, type UploadEntry } from './tree.ts'

/** Files of a function, by its name. */
type FunctionContent = Omit<FunctionFiles, 'version'> & { name: string }

export type Functions = {
  bundles: FunctionBundle[]
  files: FunctionContent[]
  /** Path without its leading slash → index in `bundles`. */
  paths: Map<string, number>
}

export type ReadJson = (path: string, max: number) => Promise<Field | undefined>

const SUFFIX = '.func'

/** Reads all functions below `directory`, which ends in a slash. */
export async function readFunctions(
  tree: Tree,
  directory: string,
  readJson: ReadJson,
  report: Report,
  notices: NoticeList,
): Promise<Functions> {
  const contents = await contentsOf(tree, directory, report)
  const functions: Functions = { bundles: [], files: [], paths: new Map() }
  let mapped = 0
  await mapInSlices([...contents], async ([name, files]) => {
    const config = await readJson(`${directory}${name}${SUFFIX}/.vc-config.json`, OUTPUT_LIMITS.functionConfigBytes)
    if (config === undefined || !isObject(config)) return
    mapped += await addMappedFiles(config, files, tree, OUTPUT_LIMITS.mappedFiles - mapped)
    const bundle = bundleOf(name, config, files, notices)
    files.environment = environmentOf(config)
    if (bundle === undefined) return
    functions.paths.set(name, functions.bundles.push(bundle) - 1)
    functions.files.push(files)
  })
  await addLinks(tree, directory, functions, report)
  return functions
}

/** Files by function name. A `.func` inside of another belongs to the outer one. */
async function contentsOf(tree: Tree, directory: string, report: Report): Promise<Map<string, FunctionContent>> {
  const contents = new Map<string, FunctionContent>()
  const ownerOf = (path: string) => {
    const end = path.startsWith(directory) ? path.indexOf(`${SUFFIX}/`, directory.length) : -1
    if (end < 0) return undefined
    const name = path.slice(directory.length, end)
    const owner = contents.get(name) ?? { name, files: [], links: [], environment: {} }
    contents.set(name, owner)
    return { owner, inside: path.slice(end + SUFFIX.length + 1) }
  }
  await mapInSlices([...tree.files], ([path, entry]) => {
    const place = ownerOf(path)
    if (place !== undefined && place.inside !== '.vc-config.json') place.owner.files.push(fileOf(place.inside, entry))
  })
  await mapInSlices([...tree.links], ([path, { entry }]) => {
    const place = ownerOf(path)
    if (place === undefined) return
    const target = linkTarget(place.inside, entry.target!)
    if (target === undefined)
      addError(report, path, '', 'is a link that points outside of its function. Copy its target.')
    else place.owner.links.push({ path: place.inside, target: entry.target! })
  })
  return contents
}

function fileOf(path: string, { digest, size, mode }: UploadEntry) {
  return { path, digest, size, executable: (mode & 0o111) !== 0 }
}

/** `filePathMap` lists project files that the function needs. A link to a directory, or to a file of the function, stays a link. Returns their number. */
async function addMappedFiles(config: Field, content: FunctionContent, tree: Tree, max: number): Promise<number> {
  const entries = entriesOf(member(config, 'filePathMap'), max) ?? []
  const listed = new Set([...content.files, ...entries.map(([path]) => ({ path }))].map(({ path }) => path))
  await mapInSlices(entries, ([path, entry]) => {
    const fault = pathError(path)
    if (fault !== undefined) return refuseField(entry, fault)
    const from = required(entry, (value) => textOf(value, { max: OUTPUT_LIMITS.path }))
    if (from === undefined) return
    const file = pathError(from) === undefined ? fileAt(tree, from) : undefined
    const target = tree.links.get(from)?.entry.target
    const end = target === undefined ? undefined : linkTarget(path, target)
    if (target !== undefined && end !== undefined && (file === undefined || listed.has(end)))
      content.links.push({ path, target })
    else if (file !== undefined) content.files.push(fileOf(path, file))
    else if (target !== undefined) refuseField(entry, `names ${from}, a link that points outside of its function.`)
    else refuseField(entry, `names ${from}, which was not uploaded. Deploy from the folder of the build.`)
  })
  return entries.length
}

/** Variables that the builder sets for this function. */
function environmentOf(config: Field): Record<string, string> {
  const entries = entriesOf(member(config, 'environment'), MAX_VARIABLES) ?? []
  const texts = entries.map(([key, field]) => [key, textOf(field, { max: MAX_VALUE })] as const)
  return Object.fromEntries(texts.filter((pair): pair is [string, string] => pair[1] !== undefined))
}

const MAX_VARIABLES = 1000
const MAX_VALUE = 64 * 1024

function bundleOf(name: string, config: Field, { files, links }: FunctionContent, notices: NoticeList) {
  const isEdge = member(config, 'type').value === 'EdgeFunction' || member(config, 'runtime').value === 'edge'
  const runtime = isEdge ? 'edge' : required(member(config, 'runtime'), (value) => textOf(value, { min: 1, max: 64 }))
  if (runtime === undefined) return undefined
  const kind = kindOf(runtime, config)
  const entry = member(config, isEdge ? 'entrypoint' : 'handler')
  const entrypoint = required(entry, (value) => textOf(value, { min: 1, max: OUTPUT_LIMITS.path })) ?? ''
  const isThere = files.some(({ path }) => path === entrypoint) || links.some(({ path }) => path === entrypoint)
  if (kind !== 'unsupported' && entrypoint !== '' && !isThere)
    refuseField(entry, `names ${entrypoint}, which is not in the function.`)
  if (kind === 'unsupported') notices.add('unsupported_runtime', `${name} (${unsupportedReason(runtime)})`)
  else notices.add('functions_not_run', name)
  return { name, kind, runtime, entrypoint, ...abilitiesOf(config) }
}

/** Node functions use the launcher; handlers in the form of AWS Lambda have none, or name it. */
function kindOf(runtime: string, config: Field): FunctionBundle['kind'] {
  if (runtime === 'edge') return 'edge'
  const isNode = /^nodejs[0-9]{1,3}\.x$/.test(runtime) && member(config, 'launcherType').value === 'Nodejs'
  return isNode && !member(config, 'awsLambdaHandler').value ? 'node' : 'unsupported'
}

function unsupportedReason(runtime: string): string {
  return runtime.startsWith('nodejs') ? 'a handler in the form of AWS Lambda' : runtime
}

function abilitiesOf(config: Field) {
  const duration = member(config, 'maxDuration')
  return {
    streaming:
      flagOf(member(config, 'supportsResponseStreaming')) || flagOf(member(config, 'experimentalResponseStreaming')),
    webApi: flagOf(member(config, 'useWebApi')),
    helpers: flagOf(member(config, 'shouldAddHelpers')),
    ...(flagOf(member(config, 'shouldAddSourcemapSupport')) && { sourceMaps: true }),
    ...defined({
      memory: integerOf(member(config, 'memory'), 128, 10_240),
      maxDuration:
        duration.value === 'max'
          ? choiceOf(duration, ['max']) && MAX_SECONDS
          : integerOf(duration, 1, MAX_SECONDS, '"max" or '),
    }),
  }
}

const MAX_SECONDS = 1800

/** `a.func -> b.func`: one function serves both paths. */
async function addLinks(tree: Tree, directory: string, functions: Functions, report: Report): Promise<void> {
  const real = new Map(functions.paths)
  await mapInSlices([...tree.links.keys()], (path) => {
    const name =
      path.startsWith(directory) && path.endsWith(SUFFIX) ? path.slice(directory.length, -SUFFIX.length) : undefined
    if (name === undefined || name.includes(`${SUFFIX}/`)) return
    const end = linkEnd(tree, path)
    const bundle =
      end?.startsWith(directory) && end.endsWith(SUFFIX)
        ? real.get(end.slice(directory.length, -SUFFIX.length))
        : undefined
    if (bundle !== undefined) functions.paths.set(name, bundle)
    else addError(report, path, '', `is a link to ${end ?? 'itself'}, which is not a function of this output.`)
  })
}
