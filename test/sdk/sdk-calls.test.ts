/**
 * The calls of the SDK that the pages of /docs show send what the example of their operation sends, by the very text that is shown. After a change of
 * an example or of the SDK `npm run examples` creates them again.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Route, unversionedPath } from '../../src/platform/http/route.ts'
import { type Example, readExamples } from '../../src/platform/openapi/examples.ts'
import { readSdkCalls, type SdkCall, sdkText } from '../../src/platform/openapi/sdk-calls.ts'
import { ROUTES } from '../../src/routes.ts'
import { root } from '../support/root.ts'
import { readNewestSdk } from './newest-sdk.ts'
import { callOf, DEMANDED, loadVercel, readMethods } from './sdk-calls.ts'

const Vercel = await loadVercel()
const TOKEN = 'a-token'
/** TABLE operations whose example the SDK cannot send, each with the reason. */
const NOT_SAID: Readonly<Record<string, string>> = {
  uploadFile: 'its body is the bytes of a file, and the example is an empty one',
  inviteUserToTeam: 'the SDK names users by their email alone, and the example names one by id',
}
type Sent = { method: string; url: string; body: unknown; authorization: string | undefined }

test('each operation that the newest SDK has is shown by the call that sends its example; npm run examples writes them again', async (t) => {
  const methods = await readMethods()
  const examples = readExamples()
  const calls: Record<string, SdkCall> = {}
  for (const operation of await readNewestSdk()) {
    const { operationId, auth } = operation.route
    const method = methods.get(operation.func)
    if (auth !== 'public' || method === undefined || NOT_SAID[operationId]) continue
    const isNamedAlike = method.endsWith(`.${operationId}`)
    if (calls[operationId] === undefined || isNamedAlike)
      calls[operationId] = await callOf(operation, method, examples[operationId]!)
  }
  t.assert.fileSnapshot(calls, join(root, 'src', 'platform', 'openapi', 'sdk-calls.json'))
})

test('the text of each call, run as it is shown, sends the request of the example', async () => {
  const service = await openService()
  try {
    const calls = Object.entries(readSdkCalls())
    assert.ok(calls.length >= 70, `${calls.length} calls`)
    for (const [operationId, call] of calls) {
      const route = ROUTES.find((one) => one.operationId === operationId) ?? assert.fail(operationId)
      const example = readExamples()[operationId]!
      service.answer(route, example)
      const run = runText(sdkText(call, route.reply !== undefined), service.address)
      // An answer that is not kept is empty here, which the SDK may refuse once it has sent what is looked at.
      const isEmpty = route.reply !== undefined && example.answer === undefined
      await run.catch((error: Error) =>
        assert.ok(isEmpty && /validation/i.test(error.message), `${operationId}: ${error}`),
      )
      const { url, ...rest } = service.sent() ?? assert.fail(`${operationId} sent nothing`)
      const wanted = { method: route.method, body: example.body, authorization: `Bearer ${TOKEN}` }
      assert.deepEqual(rest, wanted, operationId)
      const [path, query] = placeOf(url)
      const [pathWanted, queryWanted] = placeOf(example.url)
      assert.equal(path, pathWanted, operationId)
      // The SDK adds what it takes by default; the page shows none of that.
      const isShown = ([name]: [string, string]) => name in queryWanted || name in (call.request ?? {})
      const shown = Object.fromEntries(Object.entries(query).filter(isShown))
      assert.deepEqual(shown, { ...queryWanted, ...DEMANDED[operationId] }, operationId)
    }
  } finally {
    service.close()
  }
})

/** Path without its version, which is the SDK's own, and query. */
function placeOf(url: string): [string, Record<string, string>] {
  const [path = '', query = ''] = url.split('?', 2)
  return [unversionedPath(path), Object.fromEntries(new URLSearchParams(query))]
}

/** A server that keeps the last request, and answers as the example of an operation. */
async function openService() {
  let last: Sent | undefined
  let next = { status: 200, type: '', text: '' }
  const server = createServer(async (request, response) => {
    const text = (await request.toArray()).join('')
    const { method = '', url = '', headers } = request
    last = { method, url, body: text === '' ? undefined : JSON.parse(text), authorization: headers.authorization }
    response.writeHead(next.status, { 'content-type': next.type })
    response.end(next.text)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    answer({ status, reply, jsonLines }: Route, { answer = {} }: Example) {
      last = undefined
      const isLines = jsonLines === 'always' || (jsonLines && !reply!.items)
      const type = isLines ? 'application/stream+json' : 'application/json'
      const text = [isLines ? answer : [answer]]
        .flat()
        .map((line) => JSON.stringify(line))
        .join('\n')
      next = { status, type, text: reply === undefined ? '' : text }
    },
    sent: () => last,
    close: () => server.close(),
  }
}

/** Runs a module as it is shown, with what it imports given to it. */
async function runText(text: string, address: string): Promise<void> {
  const cut = text.indexOf('\n\n')
  assert.equal(text.slice(0, cut), "import { env } from 'node:process'\nimport { Vercel } from '@vercel/sdk'")
  const run = new Function('Vercel', 'env', `return (async () => {${text.slice(cut)}})()`)
  await run(Vercel, { BERTH: address, TOKEN })
}
