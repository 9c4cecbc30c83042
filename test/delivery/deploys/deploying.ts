/** How tests deploy: files are uploaded and a deployment is created of them, as the command line does. */
import assert from 'node:assert/strict'
import type { FileEntries } from '../../../src/delivery/deploys/file-entries.ts'
import type { Call, World } from '../../support/world.ts'
import type { Content } from '../outputs/upload.ts'
import { sha1Of, upload } from '../uploads/uploading.ts'

export type { Content }
export const SUFFIX = { BERTH_PLATFORM_SUFFIX: 'apps.example.net' }

/** A static site. */
export const SITE: Readonly<Record<string, Content>> = {
  '.vercel/output/config.json': '{"version":3}',
  '.vercel/output/static/index.html': '<h1>Hello</h1>',
  '.vercel/output/static/a/style.css': 'h1 {}',
}

/** The list of files as the command line sends it. */
export function listOf(contents: Readonly<Record<string, Content>>): FileEntries {
  return Object.entries(contents).map(([file, content]) => {
    const bytes = bytesOf(content)
    const mode = isLink(content) ? 0o120777 : 0o100644
    return { file, sha: sha1Of(bytes), size: bytes.length, mode }
  })
}

export function bytesOf(content: Content): Buffer {
  return isLink(content) ? Buffer.from(content.link) : Buffer.from(content)
}

function isLink(content: Content): content is { link: string } {
  return typeof content === 'object' && 'link' in content
}

/** Uploads each file. */
export async function uploadAll(call: Call, contents: Readonly<Record<string, Content>>): Promise<void> {
  for (const content of Object.values(contents)) assert.equal((await upload(call, bytesOf(content))).status, 200)
}

/** Asks for a deployment of files that are there. */
export function create(call: Call, contents: Readonly<Record<string, Content>>, said: object = {}, query = '') {
  return call.try('POST', `/v13/deployments${query}`, { name: 'web', files: listOf(contents), ...said })
}

/** Uploads files and deploys them. */
export async function deploy(call: Call, contents: Readonly<Record<string, Content>> = SITE, said: object = {}) {
  await uploadAll(call, contents)
  const made = await create(call, contents, said)
  assert.equal(made.status, 200, made.text)
  return made.body
}

/** What the store has of outputs. */
export async function outputsOf({ deps }: World) {
  const { read } = deps.db
  const outputs = await read.selectFrom('output').selectAll().orderBy('id').execute()
  const held = await read.selectFrom('output_blob').selectAll().orderBy('blob_id').execute()
  const blobs = await read.selectFrom('blob').selectAll().orderBy('id').execute()
  const deployments = await read.selectFrom('deployment').select(['id', 'output_id', 'source_id']).execute()
  const logs = await read.selectFrom('build_log').select('blob_id').execute()
  return { outputs, held, blobs, deployments, logs }
}

/** Fails where an output or a file counts other uses than it has. */
export async function mustCountRight(world: World): Promise<void> {
  const { outputs, held, blobs, deployments, logs } = await outputsOf(world)
  const shown = deployments.flatMap((one) => [one.output_id, one.source_id]).filter((id) => id !== null)
  for (const { id, refs } of outputs)
    assert.equal(Number(refs), shown.filter((one) => Number(one) === Number(id)).length, `output ${id}`)
  for (const { id, refs } of blobs)
    assert.equal(
      Number(refs),
      [...held, ...logs].filter((one) => Number(one.blob_id) === Number(id)).length,
      `file ${id}`,
    )
  for (const shownId of shown) assert.ok(outputs.some(({ id }) => Number(id) === Number(shownId)))
}
