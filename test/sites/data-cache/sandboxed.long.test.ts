/** The data cache of functions in a sandbox: shared by their project, and no way to the socket of another. docs/data-cache.md: Protocol. */
import assert from 'node:assert/strict'
import { dirname } from 'node:path'
import { test } from 'node:test'
import { runAsOf } from '../../../src/sandbox/run-as.ts'
import { eventually } from '../../support/eventually.ts'
import { canRun, skipReason } from '../../support/programs.ts'
import { functionOf, showFunctions } from '../functions/function-site.ts'
import { deployment, name, project } from '../snapshot/lines.ts'

const skip = canRun('bwrap', '--version') ? false : skipReason('bwrap', 'bubblewrap', 'functions in a sandbox')

/** Says what it finds, and all sockets that it sees. */
const MODULE = `import { readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
const { cache: own } = JSON.parse(readFileSync('/proc/self/cmdline', 'utf8').split('\\0').filter(Boolean).at(-1))
const socketsIn = (folder) => readdirSync(folder).filter((one) => statSync(join(folder, one)).isSocket()).length
export async function GET(request) {
  const { cache } = globalThis[Symbol.for('@vercel/request-context')].get()
  const value = new URL(request.url).searchParams.get('value')
  if (value !== null) await cache.set('k', value, { tags: ['a'] })
  return Response.json({ value: await cache.get('k'), sockets: socketsIn(dirname(own)), argv: process.argv.length })
}
export async function POST() {
  await globalThis[Symbol.for('@next/cache-handlers')].FetchCache.prototype.revalidateTag('a')
  return new Response('done')
}`

test('functions of a project share it, and a function sees its own two sockets alone', { skip }, async (t) => {
  const folder = dirname(dirname(process.execPath))
  const shown = await showFunctions(
    t,
    { ...functionOf('api/one', MODULE), ...functionOf('api/two', MODULE) },
    {
      own: {
        ...{ kind: 'sandboxed', runAs: runAsOf(undefined), network: 'none' },
        node: async () => ({ folder, program: process.execPath }),
      },
    },
  )
  const { control, site, visit } = shown
  const { output } = control
  control.change([name('preview.example', 'd2'), deployment('d2', { output, production: false }), project('p1')])
  await eventually(async () => (await site.visit('preview.example', '/api/one')).status === 200)
  const read = async (path: string, host = 'site.example') => JSON.parse((await site.visit(host, path)).text)
  assert.deepEqual(await read('/api/one?value=first'), { value: 'first', sockets: 2, argv: 2 })
  assert.equal((await read('/api/two')).value, 'first')
  assert.equal((await read('/api/one', 'preview.example')).value, null)
  assert.equal((await visit('/api/two', {}, 'POST')).text, 'done')
  assert.equal((await read('/api/one')).value, null)
  assert.equal(control.purges.length, 1)
})
