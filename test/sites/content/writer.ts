/** A process that is killed in the middle of a write: it fetches a file of which the second half never comes. */
import { openContentCache } from '../../../src/sites/content/content-cache.ts'

const [folder = '', sha256 = '', size = ''] = process.argv.slice(2)

async function* half() {
  yield Buffer.alloc(Number(size) / 2, 'a')
  // The first half is on the disk when the second one is asked for.
  process.stdout.write('half\n')
  await new Promise((resolve) => setTimeout(resolve, 600_000))
}

const cache = await openContentCache({
  folder,
  budgetBytes: 1024 ** 3,
  fetch: async () => half(),
  onError: console.error,
})
await cache.open('acc_1', { sha256, size: Number(size) })
