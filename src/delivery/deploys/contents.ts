/** Files of a deployment for the API and the console. docs/deploying-sites.md: Files of a deployment. */
import type { Static } from 'typebox'
import type { Ctx, Input } from '../../context.ts'
import { mapInSlices, pauseWhenBusy } from '../../platform/base/event-loop.ts'
import type { Row } from '../../platform/db/schema.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { Type } from '../../platform/schema/builder.ts'
import { OneOf } from '../../platform/schema/fields.ts'
import { cutList } from '../../platform/schema/json-list.ts'
import type { FunctionBundle, FunctionPath, StaticFile } from '../protocol/routing-manifest.ts'
import { contentOf } from './uploaded-entries.ts'

const FileNode = Type.Object(
  {
    type: OneOf('directory', 'file', 'lambda'),
    name: Type.String(),
    mode: Type.Integer({ description: 'type and permissions (POSIX st_mode)' }),
    uid: Type.Optional(Type.String({ description: 'id for reading its content' })),
    size: Type.Optional(Type.Integer()),
    contentType: Type.Optional(Type.String()),
    memory: Type.Optional(Type.Integer({ description: 'of a function that says it, in MB' })),
    maxDuration: Type.Optional(Type.Integer({ description: 'of a function that says it, in seconds' })),
    children: Type.Optional(Type.Array(Type.Unknown(), { description: 'of a directory: the same again' })),
  },
  { title: 'DeploymentFile' },
)
export const FileTree = Type.Array(FileNode)
type Leaf = Static<typeof FileNode>

/** Modes that clients require. Original modes are not stored, since visitors do not see them. */
const MODES = { directory: 0o040755, file: 0o100644, lambda: 0o100644 } as const

export const FileContents = Type.Object({ data: Type.String({ description: 'the content in base64' }) })

/** Larger files are not returned by the API. */
const MAX_BYTES = 4 * 1024 * 1024

/** Lists the static files and functions of a deployment as a tree. Empty for a deployment without files or before its output is stored. */
export async function listDeploymentFiles(ctx: Ctx, row: Row<'deployment'>): Promise<Static<typeof FileTree>> {
  const manifest = await readManifest(ctx, row)
  const directory = createFolder()
  if (manifest === undefined) return directory.list()
  const files = await listIn<StaticFile>(manifest, 'files')
  await mapInSlices(files, ({ path, digest: uid, size, contentType }) =>
    directory.add(path, { type: 'file', uid, size, contentType }),
  )
  const bundles = await listIn<FunctionBundle>(manifest, 'functions')
  const functions = await listIn<FunctionPath>(manifest, 'functionPaths')
  await mapInSlices(functions, ({ path, bundle }) => {
    const { memory, maxDuration } = bundles[bundle]!
    directory.add(path, { type: 'lambda', ...(memory && { memory }), ...(maxDuration && { maxDuration }) })
  })
  return directory.list()
}

async function readManifest({ db, deps }: Ctx, { output_id }: Row<'deployment'>): Promise<Buffer | undefined> {
  if (output_id === null) return undefined
  const { account_id, sha256 } = await db
    .selectFrom('output')
    .innerJoin('blob', 'blob.id', 'output.manifest_id')
    .select(['output.account_id', 'blob.sha256'])
    .where('output.id', '=', output_id)
    .executeTakeFirstOrThrow()
  const manifest = await contentOf(deps.files, account_id, sha256)
  if (manifest === undefined) throw new Error(`the manifest ${sha256} of ${account_id} is not there`)
  return manifest
}

async function listIn<T>(manifest: Buffer, name: string): Promise<T[]> {
  const cut = await cutList(manifest, name, Number.POSITIVE_INFINITY)
  const items: T[] = []
  for (const { from, to } of (cut as Exclude<typeof cut, string>).groups ?? []) {
    items.push(...(JSON.parse(`[${manifest.toString('utf8', from, to)}]`) as T[]))
    await pauseWhenBusy()
  }
  return items
}

type Folder = { add(path: string, leaf: Omit<Leaf, 'name' | 'mode'>): void; list(): Leaf[] }

function createFolder(): Folder {
  const folders = new Map<string, Folder>()
  const leaves: Leaf[] = []
  return {
    add(path, leaf) {
      const end = path.indexOf('/', 1)
      if (end < 0) leaves.push({ name: path.slice(1), mode: MODES[leaf.type], ...leaf })
      else folders.getOrInsertComputed(path.slice(1, end), createFolder).add(path.slice(end), leaf)
    },
    list: () => [
      ...folders.entries().map(
        ([name, inner]): Leaf => ({
          type: 'directory',
          name,
          mode: MODES.directory,
          children: inner.list(),
        }),
      ),
      ...leaves,
    ],
  }
}

/** Returns the content of a deployment's file. Refuses: not_found 404, payload_too_large 413 (above 4 MiB). */
export async function readDeploymentFile(
  { db, deps }: Ctx,
  { output_id }: Row<'deployment'>,
  { params }: Input,
): Promise<Static<typeof FileContents>> {
  const file = await db
    .selectFrom('output_blob')
    .innerJoin('blob', 'blob.id', 'output_blob.blob_id')
    .select(['blob.account_id', 'blob.sha256', 'blob.size'])
    .where('output_blob.output_id', '=', output_id ?? 0)
    .where('blob.sha256', '=', params.fileId ?? '')
    .executeTakeFirst()
  if (file === undefined) refuse('not_found', 'The deployment has no file with this id.')
  if (Number(file.size) > MAX_BYTES)
    refuse('payload_too_large', 'A file above 4 MiB is read at the address of the deployment.')
  const bytes = await contentOf(deps.files, file.account_id, file.sha256)
  if (bytes === undefined) throw new Error(`the file ${file.sha256} of ${file.account_id} is not there`)
  return { data: bytes.toString('base64') }
}
