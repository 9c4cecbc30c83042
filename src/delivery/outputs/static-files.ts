import { mapInSlices } from '../../platform/base/event-loop.ts'
import type { StaticFile } from '../protocol/routing-manifest.ts'
import type { Override } from './config-file.ts'
import { contentTypeOf } from './content-types.ts'
import { addError, type Report } from './faults.ts'
import { refuseField } from './fields.ts'
import type { NoticeList } from './notices.ts'
import { pathError } from './paths.ts'
import { fileAt, type Tree } from './tree.ts'

/** Lists the files below `directory`, which ends in a slash. An override sets another path and content type. */
export async function staticFilesOf(
  tree: Tree,
  directory: string,
  overrides: ReadonlyMap<string, Override>,
  report: Report,
  notices: NoticeList,
): Promise<StaticFile[]> {
  const files = new Map<string, StaticFile>()
  const unused = new Set(overrides.keys())
  const below = [...tree.files.keys(), ...tree.links.keys()].filter((path) => path.startsWith(directory))
  await mapInSlices(below, (from) => {
    const entry = fileAt(tree, from)
    if (entry === undefined || !entry.path.startsWith(directory)) {
      addError(
        report,
        from,
        '',
        'is a link that does not point to a file below static/. Links to folders are not followed: copy the folder.',
      )
      return
    }
    const name = from.slice(directory.length)
    unused.delete(name)
    const override = overrides.get(name)
    const path = outputPath(override, name)
    if (path === undefined) return
    if (files.has(path)) addError(report, from, '', `and another file are both served at ${path}. Change an override.`)
    const contentType = override?.contentType ?? contentTypeOf(name)
    files.set(path, { path, digest: entry.digest, size: entry.size, contentType })
  })
  for (const name of unused) notices.add('override_unused', name)
  return [...files.values()]
}

function outputPath(override: Override | undefined, name: string): string | undefined {
  const path = override?.path?.replace(/^\//, '') ?? name
  const fault = path === '' ? undefined : pathError(path)
  return fault === undefined
    ? `/${path}`
    : refuseField({ ...override!.field, name: `${override!.field.name}.path` }, fault)
}
