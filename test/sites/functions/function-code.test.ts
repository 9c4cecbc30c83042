/** Files of functions that a sites server keeps on its disk, and which go. docs/functions.md: Files. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { test } from 'node:test'
import { openFunctionCode } from '../../../src/sites/functions/function-code.ts'
import { eventually } from '../../support/eventually.ts'
import { fileOf, newFolder, openCache, openOrigin } from '../content/caches.ts'

/** A directory and a small file, each a block. */
const OF_ONE = 2 * 4096

test('above the limit, the code that was used longest ago is removed, and none that is in use', async (t) => {
  const origin = openOrigin()
  const cache = await openCache(t, { fetch: origin.fetch })
  const code = openFunctionCode(cache, newFolder(t), 2 * OF_ONE)
  const place = (text: string) => {
    const { sha256, size } = origin.add(text)
    const files = [{ path: 'index.mjs', digest: sha256, size, executable: false }]
    const list = origin.add(JSON.stringify({ version: 1, files, links: [], environment: {} }))
    return code.place('team_1', { digest: list.sha256, size: list.size })
  }
  /** Whether the code is where it was. It is used last from then on. */
  const stays = async (text: string, { folder }: { folder: string }) => {
    const again = await place(text)
    again.release()
    return again.folder === folder
  }
  const [first, second] = [await place('first'), await place('second')]
  first.release()
  second.release()
  assert.deepEqual([await stays('second', second), await stays('first', first)], [true, true], 'just the limit')
  const used = await place('first')
  const third = await place('third')
  await eventually(() => !existsSync(second.folder))
  const fourth = await place('fourth')
  const inUse = Object.entries({ first: used, third, fourth })
  for (const [text, placed] of inUse) assert.ok(await stays(text, placed), text)
  used.release()
  await eventually(() => !existsSync(used.folder))
  for (const [text, placed] of inUse.slice(1)) assert.ok(await stays(text, placed), text)
})

test('code that could not be placed is placed at its next use', async (t) => {
  const origin = openOrigin()
  const cache = await openCache(t, { fetch: origin.fetch })
  const code = openFunctionCode(cache, newFolder(t))
  const list = JSON.stringify({ version: 1, files: [], links: [], environment: { A: '1' } })
  const { sha256, size } = fileOf(Buffer.from(list))
  await assert.rejects(code.place('team_1', { digest: sha256, size }))
  origin.add(list)
  const { environment, release } = await code.place('team_1', { digest: sha256, size })
  assert.deepEqual(environment, { A: '1' })
  release()
})
