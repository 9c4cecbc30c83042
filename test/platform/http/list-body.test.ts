/** Bodies with one very long list: read as any other, in pieces that others do not wait for. docs/limits.md: Sizes and timeouts. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CreateDeployment } from '../../../src/delivery/deploys/create-schema.ts'
import { readListBody } from '../../../src/platform/http/list-body.ts'
import { readBodyOf } from '../../../src/platform/http/parse-request.ts'
import { Refusal } from '../../../src/platform/refusals/refusal.ts'

const ROUTE = { auth: 'public', body: CreateDeployment, listBody: 'files' } as const
const JSON_TYPE = 'application/json'

const readText = (text: string) => readListBody(ROUTE, JSON_TYPE, Buffer.from(text))
const file = (at: number) => ({ file: `dir/f${at}`, sha: 'a'.repeat(40), size: at })

/** The sentence of a refusal. */
async function faultOf(text: string): Promise<string> {
  const error = await readText(text).then(
    () => undefined,
    (fault) => fault,
  )
  assert.ok(error instanceof Refusal, text.slice(0, 60))
  return error.message
}

test('a body with a list is what it is without cutting, however it is written', async () => {
  for (const body of [
    {},
    { name: 'web', files: [] },
    { files: [file(1)], name: 'web' },
    { meta: { files: [1, 2], a: '"files":[' }, files: Array.from({ length: 250 }, (_, at) => file(at)), name: 'x' },
    { files: [{ file: 'a,]}\\"', data: ',[{"\\', encoding: 'utf-8', unknown: { a: [1, [2]] } }, file(2)] },
    { files: Array.from({ length: 5 }, () => ({ file: 'long', data: 'é'.repeat(20_000) })) },
    {
      files: ['a', 'é', '"', '\\', '\u0001', '😀', '\n"é'].map((unit) => ({ file: unit, data: unit.repeat(400_000) })),
    },
    {
      files: [{ file: 'two', unknown: '"'.repeat(300_000), data: '\n'.repeat(300_000) }, file(3)],
      name: 'long string 0',
    },
  ])
    for (const space of [undefined, 2]) {
      const bytes = Buffer.from(JSON.stringify(body, null, space))
      assert.deepEqual(await readListBody(ROUTE, JSON_TYPE, bytes), readBodyOf(ROUTE, JSON_TYPE, bytes))
    }
  assert.deepEqual(await readListBody(ROUTE, JSON_TYPE, undefined), {})
})

test('20,000 files with all their fields are read', async () => {
  const files = Array.from({ length: 20_000 }, (_, at) => ({ ...file(at), mode: 33188, encoding: 'base64', x: 1 }))
  const body = (await readText(JSON.stringify({ files, name: 'web' }))) as { files: { file: string }[] }
  assert.deepEqual([body.files.length, body.files[19_999]!.file], [20_000, 'dir/f19999'])
  assert.match(await faultOf(JSON.stringify({ files: [...files, file(0)] })), /`files` should NOT have more than 20000/)
})

test('a mistake is refused with its place, and nothing gets through where groups meet', async () => {
  const many = Array.from({ length: 150 }, (_, at) => JSON.stringify(file(at)))
  for (const [text, sentence] of [
    [`{"files":[${many.join(',')},{"file":5}]}`, /`files\.150\.file` should be string/],
    [`{"files":[${many.join(',')},{"sha":"a"}]}`, /missing required property `files\.150\.file`/],
    [`{"files":[${many.join(',')},{"file":"a\\u0000"}]}`, /`files\.150\.file` contains a NUL/],
    [`{"files":[${many.join(',')},{"__proto__":{}}]}`, /`files\.150\.__proto__` is not allowed/],
    [`{"files":[${many.slice(0, 100).join(',')},]}`, /not valid JSON \(in `files`\)/],
    [`{"files":[${many.slice(0, 100).join(',')},,${many[0]}]}`, /not valid JSON/],
    [`{"files":[,${many.join(',')}]}`, /not valid JSON/],
    [`{"files":[{"file":"a"]}]}`, /not valid JSON/],
    [`{"files":[{"file":"a"}`, /not valid JSON/],
    [`{"files":[${many[0]}],"files":[${many[0]}]}`, /`files` is there twice/],
    [`{"files":[${many[0]}],"files":5}`, /`files` should be array/],
    [`{"files":${'['.repeat(40)}`, /nested more than 32 levels/],
    [`{"files":[${'1,'.repeat(300_001)}1]}`, /more than 300,000 names and values/],
    [`{"name":"${'a'.repeat(1024 ** 2)}","files":[]}`, /without `files` is too large/],
  ] as const)
    assert.match(await faultOf(text), sentence)
  const wrongType = readListBody(ROUTE, 'text/plain', Buffer.from('{"files":[]}'))
  await assert.rejects(wrongType, /must be application\/json/)
})
