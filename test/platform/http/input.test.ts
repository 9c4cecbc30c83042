/** Bad input: the documented error, with a sentence that names the culprit; nothing written. docs/spec/decisions.md: Errors, limits, versions. */
import assert from 'node:assert/strict'
import { seedProject } from '../../support/projects.ts'
import { digest } from '../../support/stores/digest.ts'
import { type ApiResponse, onBothEngines, type World } from '../../support/world.ts'

/** The answer is this refusal, its sentence names the culprit and is short enough to read. */
function refused(answer: ApiResponse, status: number, code: string, named: string, said: string): void {
  assert.deepEqual([answer.status, answer.body?.error?.code], [status, code], `${said}: ${answer.text.slice(0, 300)}`)
  assert.ok(answer.body.error.message.includes(named), `${said}: ${answer.body.error.message.slice(0, 300)}`)
  assert.ok(answer.body.error.message.length < 700, `${said}: a sentence of ${answer.body.error.message.length}`)
}

async function writesNothing(world: World, run: () => Promise<void>): Promise<void> {
  const before = await digest(world)
  await run()
  assert.equal(await digest(world), before)
}

onBothEngines('a wrong type, enum or missing field is 400 and named, in create and update', async (world) => {
  await seedProject(world, 'web')
  const wrong: [object | string, string][] = [
    [{ buildCommand: 1 }, '`buildCommand`'],
    [{ buildCommand: ['make'] }, '`buildCommand`'],
    [{ buildCommand: 'x'.repeat(257) }, '`buildCommand`'],
    [{ serverlessFunctionRegion: 'fra12' }, '`serverlessFunctionRegion`'],
    [{ framework: 'rails' }, '`framework`'],
    [{ nodeVersion: '7.x' }, '`nodeVersion`'],
    [{ publicSource: 'true' }, '`publicSource`'],
    [{ gitForkProtection: 1 }, '`gitForkProtection`'],
    [{ directoryListing: null }, '`directoryListing`'],
    [{ skewProtectionMaxAge: 1.5 }, '`skewProtectionMaxAge`'],
    [{ skewProtectionMaxAge: '1' }, '`skewProtectionMaxAge`'],
    [{ skewProtectionBoundaryAt: -1 }, '`skewProtectionBoundaryAt`'],
    [{ ssoProtection: { deploymentType: 'none' } }, '`ssoProtection.deploymentType`'],
    [{ ssoProtection: {} }, '`ssoProtection.deploymentType`'],
    [{ ssoProtection: true }, '`ssoProtection`'],
    [{ gitComments: { onPullRequest: true } }, '`gitComments.onCommit`'],
    [{ optionsAllowlist: { paths: [{ value: 'a' }] } }, '`optionsAllowlist.paths.0.value`'],
    [{ optionsAllowlist: { paths: [] } }, '`optionsAllowlist.paths`'],
    [{ oidcTokenConfig: { enabled: true, issuerMode: 'x' } }, '`oidcTokenConfig.issuerMode`'],
    [{ resourceConfig: { functionDefaultRegions: [1] } }, '`resourceConfig.functionDefaultRegions.0`'],
    [{ resourceConfig: [] }, '`resourceConfig`'],
    [{ devCommand: 'a\u0000b' }, '`devCommand` contains a NUL'],
    ['{"name":"n","devCommand":"\\ud800"}', '`devCommand` contains a lone surrogate'],
    ['{"name":"n","\\udfff":1}', 'lone surrogate'],
    [`{"name":"n","a\\u0000${'k'.repeat(5000)}":1}`, 'NUL'],
    ['{"name":"n","devCommand":"\\udc00\\ud800"}', '`devCommand` contains a lone surrogate'],
    ['{"name":"n","skewProtectionMaxAge":9007199254740993}', '`skewProtectionMaxAge` is beyond 2^53'],
    ['{"name":"n","unknown":-1e400}', '`unknown` is beyond 2^53'],
    ['{"name":"n","__proto__":{"a":1}}', '`__proto__`'],
    ['{"name":"n","a":{"\\u005f_proto__":{}}}', '`a.__proto__`'],
    [`{"name":"n","a":${'['.repeat(33)}${']'.repeat(33)}}`, '32 levels'],
    [`{"name":"n","a":${'{"b":'.repeat(33)}1${'}'.repeat(33)}}`, '32 levels'],
  ]
  await writesNothing(world, async () => {
    for (const [body, named] of wrong) {
      const create = typeof body === 'string' ? body : { name: 'n', ...body }
      refused(
        await world.call.try('POST', '/v10/projects', create),
        400,
        'bad_request',
        named,
        JSON.stringify(body).slice(0, 200),
      )
      refused(await world.call.try('PATCH', '/v9/projects/web', body), 400, 'bad_request', named, `update ${named}`)
    }
    refused(await world.call.try('POST', '/v10/projects', {}), 400, 'bad_request', '`name`', 'no name')
    refused(await world.call.try('POST', '/v10/projects'), 400, 'bad_request', '`name`', 'no body')
    const empty = await world.call.try('POST', '/v10/projects', '', { 'content-type': 'application/json' })
    refused(empty, 400, 'bad_request', '`name`', 'an empty body')
  })
  const deepest = `{"name":"n","a":${'['.repeat(31)}${']'.repeat(31)}}`
  assert.equal((await world.call('POST', '/v10/projects', deepest)).status, 200, '32 levels are taken')
})

onBothEngines('a body that is not a JSON object is 400, and the sentence does not repeat the body', async (world) => {
  await seedProject(world, 'web')
  const bodies: (string | Buffer)[] = [
    '{',
    '{"name":}',
    "{'name':'a'}",
    '{"name":"hunter2"',
    'name=hunter2',
    '{"a":1}}',
    '{"a":NaN}',
  ]
  bodies.push(
    'null',
    'true',
    '1',
    '"hunter2"',
    '[]',
    '[{"name":"a"}]',
    ' ',
    '{"name":"a",}',
    '{"name":"a"}\u0000',
    '['.repeat(5000),
  )
  const invalid = ['c328', 'ff', 'eda080', 'f8a1a1a1a1', 'c080'].map((hex) =>
    Buffer.from(`7b226e616d65223a22${hex}227d`, 'hex'),
  )
  await writesNothing(world, async () => {
    for (const body of [...bodies, ...invalid]) {
      const [create, update] = [
        await world.call.try('POST', '/v10/projects', body),
        await world.call.try('PATCH', '/v9/projects/web', body),
      ]
      const said = String(body).slice(0, 30)
      for (const answer of [create, update]) refused(answer, 400, 'bad_request', 'the body', said)
      assert.equal(create.text.includes('hunter2'), false)
    }
  })
  const messageFor = async (body: string | Buffer) =>
    (await world.call.try('POST', '/v10/projects', body)).body.error.message
  for (const body of invalid) assert.match(await messageFor(body), /UTF-8/)
  const broken = 'Invalid request: the body is not valid JSON'
  assert.equal(await messageFor('{"name":"hunter2"'), `${broken} (at position 17).`)
  assert.equal(await messageFor('{"name":hunter2}'), `${broken}.`, 'the parser quotes this one, without a position')
})

onBothEngines('a body of another content type is 415, one that is JSON by another name is read', async (world) => {
  await seedProject(world, 'web')
  const types = [
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/jsonx',
    'application',
    ';',
    'json',
    'text/json',
    ' ',
  ]
  await writesNothing(world, async () => {
    for (const type of types) {
      for (const [method, url] of [
        ['POST', '/v10/projects'],
        ['PATCH', '/v9/projects/web'],
      ] as const) {
        const answer = await world.call.try(method, url, { name: 'x' }, { 'content-type': type })
        refused(answer, 415, 'unsupported_media_type', 'application/json', type)
      }
    }
  })
  for (const type of [
    'application/json; charset=utf-8',
    'Application/JSON',
    'application/merge-patch+json',
    'application/vnd.api+json;v=1',
  ]) {
    assert.equal(
      (await world.call('PATCH', '/v9/projects/web', { devCommand: 'x' }, { 'content-type': type })).status,
      200,
      type,
    )
  }
})

onBothEngines('the path that the CLI sends text to takes its JSON of any type, and nothing but JSON', async (world) => {
  await seedProject(world, 'web')
  const add = (body: unknown, type: string) =>
    world.call.try('POST', '/projects/web/alias', body, { 'content-type': type })
  const body = { target: 'PRODUCTION', domain: 'www.example.com' }
  const added = await add(body, 'text/plain;charset=UTF-8')
  assert.deepEqual([added.status, added.body[0].domain], [200, 'www.example.com'], added.text)
  await writesNothing(world, async () => {
    refused(await add('domain=other.example.com', 'text/plain'), 400, 'bad_request', 'not valid JSON', 'text')
    refused(await add({ target: 'PRODUCTION' }, 'text/plain'), 400, 'bad_request', '`domain`', 'no domain')
  })
})

onBothEngines('a body over the limit is 413: 1 MiB at create, 64 KiB elsewhere, to the byte', async (world) => {
  await seedProject(world, 'web')
  const body = (bytes: number) => {
    const frame = JSON.stringify({ name: 'big', pad: '' })
    return frame.replace('"pad":""', `"pad":"${'x'.repeat(bytes - frame.length)}"`)
  }
  const small: [() => Promise<ApiResponse>, string][] = [
    [() => world.call.try('PATCH', '/v9/projects/web', body(65_537)), 'update'],
    [() => world.call.try('PATCH', '/v1/data-cache/projects/web', body(65_537)), 'data cache'],
    [() => world.call.try('POST', '/v1/projects/web/pause', body(65_537)), 'pause'],
    [() => world.call.try('DELETE', '/v9/projects/web', body(65_537)), 'delete'],
    [() => world.operator.try('POST', '/operator/v1/users', body(65_537)), 'users'],
    [() => world.call.try('POST', '/v10/projects', body(1_048_577)), 'create'],
    [() => world.call.try('POST', '/v10/projects', body(5_000_000)), 'create'],
  ]
  await writesNothing(world, async () => {
    for (const [ask, said] of small) refused(await ask(), 413, 'payload_too_large', 'too large', said)
  })
  assert.equal((await world.call('PATCH', '/v9/projects/web', body(65_536).replace('big', 'bag'))).status, 200)
  assert.equal((await world.call('POST', '/v10/projects', body(1_048_576))).status, 200)
})

onBothEngines(
  'a query that is repeated, badly escaped or not UTF-8 is 400; an undeclared one is ignored on a route that is not a list',
  async (world) => {
    await seedProject(world, 'web')
    const wrong: [string, string][] = [
      ['limit=1&limit=1', '`limit` is given more than once'],
      ['a=1&a=2', '`a` is given more than once'],
      ['__proto__=1&__proto__=2', '`__proto__`'],
      ['search=%zz', 'UTF-8'],
      ['search=%', 'UTF-8'],
      ['search=%ff', 'UTF-8'],
      ['search=%ed%a0%80', 'UTF-8'],
      ['%ff=1', 'UTF-8'],
      ['search=a%00b', 'UTF-8'],
      ['unknown=%00', 'UTF-8'],
      [`${'k'.repeat(3000)}=1&${'k'.repeat(3000)}=1`, 'more than once'],
    ]
    for (const [query, named] of wrong) {
      refused(await world.call.try('GET', `/v9/projects?${query}`), 400, 'bad_request', named, query.slice(0, 60))
      refused(await world.call.try('GET', `/v9/projects/web?${query}`), 400, 'bad_request', named, query.slice(0, 60))
    }
    for (const query of ['a', '&&&', '=', '?', 'a=b=c', 'search=a+b%20c', 'constructor=1', 'a[]=1&a[0]=2', 'a.b=1']) {
      assert.equal((await world.call('GET', `/v9/projects/web?${query}`)).status, 200, query)
    }
  },
)

onBothEngines('a path that is badly escaped is 400, one that names nothing 404; never a 500', async (world) => {
  await seedProject(world, 'web')
  for (const said of ['%zz', '%', '%ff', 'a%', '%c0%af', '%ed%a0%80']) {
    const answer = await world.call.try('GET', `/v9/projects/${said}`)
    assert.deepEqual([answer.status, answer.body.error.code], [400, 'bad_request'], said)
  }
  for (const said of ['%00', 'we%00b', 'web%00']) {
    refused(await world.call.try('GET', `/v9/projects/${said}`), 400, 'bad_request', '`idOrName` contains a NUL', said)
    refused(
      await world.call.try('POST', `/v1/projects/${said}/pause`),
      400,
      'bad_request',
      '`projectId` contains a NUL',
      said,
    )
    refused(await world.call.try('GET', `/teams/${said}`), 400, 'bad_request', '`idOrSlug` contains a NUL', said)
  }
  for (const said of [
    '%2e',
    'web%2f',
    'web;a=b',
    "web'--",
    '%F0%9F%99%82',
    '*',
    'web%20',
    'x'.repeat(101),
    'x'.repeat(5000),
    '%25zz',
    'WEB',
  ]) {
    const answer = await world.call.try('GET', `/v9/projects/${said}`)
    if (said !== '%2e') assert.deepEqual([answer.status, answer.body.error.code], [404, 'not_found'], said)
    assert.ok(answer.text.length < 12_000 && answer.status < 500, said)
  }
})
