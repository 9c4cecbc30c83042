/** Outputs in the store, without a deploy by a client: their files, the rows that name these, and the deployments that show them. */
import { createHash } from 'node:crypto'
import type { OutputFacts } from '../../../src/platform/verdict/facts.ts'
import { addRows, tamper } from '../states.ts'
import type { World } from '../world.ts'

type Store = Pick<World, 'deps'>
export type StoredFile = { id: number; sha256: string; size: number }
export type StoredOutput = { id: number; sha256: string; manifest: StoredFile; files: StoredFile[]; facts: OutputFacts }

/** A file of an account: its bytes, and a row that names them. The same content again is the same file. */
export async function addFile({ deps }: Store, accountId: string, content: string | Buffer): Promise<StoredFile> {
  async function* pieces() {
    yield Buffer.from(content)
  }
  const { sha256, size } = await deps.files.put(accountId, pieces(), {
    sha1: undefined,
    size: undefined,
    max: 2 ** 30,
  })
  const find = () =>
    deps.db.read
      .selectFrom('blob')
      .select('id')
      .where('account_id', '=', accountId)
      .where('sha256', '=', sha256)
      .executeTakeFirst()
  if ((await find()) === undefined) await addRows({ deps }, 'blob', [{ account_id: accountId, sha256, size, refs: 0 }])
  return { id: (await find())!.id, sha256, size }
}

/** Adds an output with a manifest and files of these contents, each of which it has once. No deployment shows it. */
export async function addOutput(
  world: Store,
  accountId: string,
  manifest: string,
  contents: readonly string[] = [],
): Promise<StoredOutput> {
  const files: StoredFile[] = []
  for (const content of [manifest, ...contents]) files.push(await addFile(world, accountId, content))
  const sha256 = createHash('sha256').update(`output ${manifest}`).digest('hex')
  const row = { account_id: accountId, sha256, manifest_id: files[0]!.id, refs: 0 }
  await addRows(world, 'output', [row])
  const { read } = world.deps.db
  const found = read.selectFrom('output').select('id').where('account_id', '=', accountId).where('sha256', '=', sha256)
  const { id } = await found.executeTakeFirstOrThrow()
  const held = [...new Map(files.map((file) => [file.id, file])).values()]
  await addRows(
    world,
    'output_blob',
    held.map((file) => ({ output_id: id, blob_id: file.id })),
  )
  for (const file of held) await countHolders(world, file)
  const facts = { accountId, digest: files[0]!.sha256, size: files[0]!.size }
  return { id, sha256, manifest: files[0]!, files, facts }
}

/** Makes a deployment show an output, or none. */
export async function showOutput(world: Store, deploymentId: string, output: StoredOutput | null): Promise<void> {
  await tamper(world, 'deployment', { output_id: output?.id ?? null }, { id: deploymentId })
  const { read } = world.deps.db
  for (const { id } of await read.selectFrom('output').select('id').execute()) {
    const shown = await read.selectFrom('deployment').select('id').where('output_id', '=', id).execute()
    await tamper(world, 'output', { refs: shown.length }, { id })
  }
}

async function countHolders(world: Store, { id }: StoredFile): Promise<void> {
  const holders = await world.deps.db.read
    .selectFrom('output_blob')
    .select('output_id')
    .where('blob_id', '=', id)
    .execute()
  await tamper(world, 'blob', { refs: holders.length }, { id })
}
