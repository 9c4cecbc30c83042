/** One canonical form of a name, in bodies and in paths; what is not a name is refused and writes nothing. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readConfig } from '../src/config.ts'
import { apexOf, canonicalName, wildcardsOver } from '../src/domains/names.ts'
import { Refusal } from '../src/errors.ts'
import { onBothEngines } from './world.ts'

const settings = readConfig({}).domains

const GOOD: Record<string, [name: string, apex: string]> = {
  'example.com': ['example.com', 'example.com'],
  'WWW.Example.COM': ['www.example.com', 'example.com'],
  'example.com.': ['example.com', 'example.com'],
  '*.Example.com': ['*.example.com', 'example.com'],
  'a.b.c.example.co.uk': ['a.b.c.example.co.uk', 'example.co.uk'],
  'foo.github.io': ['foo.github.io', 'foo.github.io'],
  'bar.foo.github.io': ['bar.foo.github.io', 'foo.github.io'],
  'münchen.de': ['xn--mnchen-3ya.de', 'xn--mnchen-3ya.de'],
  'MÜNCHEN.de': ['xn--mnchen-3ya.de', 'xn--mnchen-3ya.de'],
  'mu\u0308nchen.de': ['xn--mnchen-3ya.de', 'xn--mnchen-3ya.de'],
  'xn--mnchen-3ya.de': ['xn--mnchen-3ya.de', 'xn--mnchen-3ya.de'],
  '*.münchen.de.': ['*.xn--mnchen-3ya.de', 'xn--mnchen-3ya.de'],
  'straße.de': ['xn--strae-oqa.de', 'xn--strae-oqa.de'],
  'foo.公司.cn': ['foo.xn--55qx5d.cn', 'foo.xn--55qx5d.cn'],
  '💩.la': ['xn--ls8h.la', 'xn--ls8h.la'],
  'foo.\u212Aelvin.com': ['foo.kelvin.com', 'kelvin.com'],
  'ΣΑΣ.gr': ['xn--mxa9ab.gr', 'xn--mxa9ab.gr'],
  'İ.com': ['xn--i-9bb.com', 'xn--i-9bb.com'],
  'x--y.com': ['x--y.com', 'x--y.com'],
  'foo.lan': ['foo.lan', 'foo.lan'],
  'host.local.example.org': ['host.local.example.org', 'example.org'],
  [`${'a'.repeat(63)}.com`]: [`${'a'.repeat(63)}.com`, `${'a'.repeat(63)}.com`],
  [`${`${'a'.repeat(62)}.`.repeat(3)}${'b'.repeat(60)}.com`]: [
    `${`${'a'.repeat(62)}.`.repeat(3)}${'b'.repeat(60)}.com`,
    `${'b'.repeat(60)}.com`,
  ],
}

for (const [said, [name, apex]] of Object.entries(GOOD)) {
  test(`"${said.slice(0, 60)}" is the domain ${name.slice(0, 60)}`, () => {
    assert.equal(canonicalName(said, settings), name)
    assert.equal(apexOf(name), apex)
    assert.equal(canonicalName(name, settings), name, 'its own canonical form')
  })
}

const BAD = [
  '',
  '.',
  '..',
  'com',
  'localhost',
  '*',
  '*.com',
  '*.co.uk',
  '*.*.example.com',
  'www.*.example.com',
  'w*.example.com',
  '**.example.com',
  'co.uk',
  'github.io',
  '公司.cn',
  'x.compute.amazonaws.com',
  '1.2.3.4',
  '1.2.3',
  '0x7f.1',
  'foo.0x4',
  '::1',
  '[::1]',
  '2130706433',
  'example.123',
  'example..com',
  '.example.com',
  'example.com..',
  '-a.example.com',
  'a-.example.com',
  'a_b.example.com',
  '_berth.example.com',
  `${'a'.repeat(64)}.com`,
  `${`${'a'.repeat(62)}.`.repeat(3)}${'b'.repeat(61)}.com`,
  `*.${`${'a'.repeat(62)}.`.repeat(3)}${'b'.repeat(60)}.com`,
  'a'.repeat(5000),
  'example.com/path',
  'https://example.com',
  'example.com:443',
  'user@example.com',
  'ex%61mple.com',
  'exa mple.com',
  ' example.com',
  'example.com\n',
  'exa\tmple.com',
  'exa\u0007mple.com',
  'exa\u00a0mple.com',
  'exa\u00admple.com',
  'exa\u200bmple.com',
  'exa\u200dmple.com',
  'exa\u202emple.com',
  'ｅxample.com',
  'example。com',
  'example．com',
  '❤️.com',
  'xn--a.com',
  'xn--.com',
  'xn--zzzz-.com',
  'xn--ｅ.com',
  'example.com#x',
  'example.com?x',
  'example\\.com',
  'exam[ple.com',
  'foo.test',
  'foo.localhost',
  'printer.local',
  'db.internal',
  'x.onion',
  'x.example',
  '1.168.192.in-addr.arpa',
  'javascript:alert(1)',
]

for (const said of BAD) {
  test(`${JSON.stringify(said.slice(0, 60))} is no domain`, () => {
    assert.throws(
      () => canonicalName(said, settings),
      (error) => error instanceof Refusal && error.key === 'invalid_domain',
    )
  })
}

test('special-use names are taken where the operator says so, and so are names under the platform suffix', () => {
  const allowed = readConfig({ BERTH_SPECIAL_USE_DOMAINS: 'test, internal' }).domains
  assert.equal(canonicalName('foo.test', allowed), 'foo.test')
  assert.equal(canonicalName('a.b.internal', allowed), 'a.b.internal')
  assert.throws(() => canonicalName('foo.local', allowed))
  const platform = readConfig({ BERTH_PLATFORM_SUFFIX: 'apps.localhost' }).domains
  assert.equal(canonicalName('web.apps.localhost', platform), 'web.apps.localhost')
  assert.throws(() => canonicalName('web.localhost', platform))
})

test('10,000 spellings of names lead to one form each or are refused', () => {
  const spell = [
    (name: string) => name.toUpperCase(),
    (name: string) => `${name}.`,
    (name: string) => name.replace(/[a-z]/g, (letter) => (Math.random() < 0.5 ? letter.toUpperCase() : letter)),
    (name: string) => name.normalize('NFD'),
    (name: string) => name.replace(/[a-z]/, (letter) => String.fromCodePoint(letter.codePointAt(0)! + 0xfee0)),
    (name: string) => `${name.slice(0, 3)}\u00ad${name.slice(3)}`,
    (name: string) => name.replace('.', '。'),
    (name: string) => name.replace(/[a-z]/, (letter) => `%${letter.codePointAt(0)!.toString(16)}`),
    (name: string) => `${name}\0`,
  ]
  for (let at = 0; at < 10_000; at++) {
    const name = `${['shop', 'käse', 'été', 'x1'][at % 4]}${at % 25}.example${at % 7}.org`
    const canonical = canonicalName(name, settings)
    const said = spell[at % spell.length]!(name)
    let got: string
    try {
      got = canonicalName(said, settings)
    } catch (error) {
      assert.ok(error instanceof Refusal && error.key === 'invalid_domain')
      continue
    }
    assert.equal(got, canonical, said)
  }
})

test('the wildcards over a name are all those that cover it', () => {
  assert.deepEqual(wildcardsOver('a.b.example.com'), ['*.b.example.com', '*.example.com'])
  assert.deepEqual(wildcardsOver('*.b.example.com'), ['*.example.com'])
  assert.deepEqual(wildcardsOver('example.com'), [])
  assert.deepEqual(wildcardsOver('*.example.com'), [])
})

test('settings of domains are read strictly, and the message names the setting', () => {
  const bad: Record<string, string> = {
    BERTH_DNS_SERVERS: 'localhost:53',
    BERTH_DOMAIN_PROOF: 'never',
    BERTH_PLATFORM_SUFFIX: 'a b',
    BERTH_DENIED_DOMAINS: 'good.com,b@d',
    BERTH_SPECIAL_USE_DOMAINS: '-x',
    BERTH_CHALLENGE_LABEL: 'a.b',
    BERTH_CHALLENGE_PREFIX: 'a=b',
    BERTH_EDGE_CNAME: 'a,b.com',
    BERTH_EDGE_IPV4: '::1',
  }
  for (const [name, value] of Object.entries(bad)) {
    assert.throws(() => readConfig({ [name]: value }), new RegExp(name), `${name}=${value}`)
  }
  for (const server of ['127.0.0.1:70000', '1.2.3', '[1.2.3.4]:5', 'x:53'])
    assert.throws(() => readConfig({ BERTH_DNS_SERVERS: server }), /BERTH_DNS_SERVERS/)
  const read = readConfig({ BERTH_DNS_SERVERS: '127.0.0.1:5300, [::1]:53,9.9.9.9, ::1' })
  assert.deepEqual(read.dnsServers, ['127.0.0.1:5300', '[::1]:53', '9.9.9.9', '::1'])
  assert.deepEqual(readConfig({ BERTH_DENIED_DOMAINS: '*.Müll.de, x.org.' }).domains.denied, [
    'xn--mll-hoa.de',
    'x.org',
  ])
})

onBothEngines('every spelling of one name is one domain, in the body and in the path', async ({ call }) => {
  await call('POST', '/v10/projects', { name: 'web' })
  const made = await call('POST', '/v10/projects/web/domains', { name: 'WWW.Käse.Example.COM.' })
  assert.equal(made.status, 200)
  assert.equal(made.body.name, 'www.xn--kse-qla.example.com')
  assert.equal(made.body.apexName, 'example.com')
  for (const said of ['www.käse.example.com', 'www.xn--kse-qla.example.com.', 'Www.KÄSE.example.com']) {
    const again = await call('POST', '/v10/projects/web/domains', { name: said })
    assert.equal(again.status, 400)
    assert.equal(again.body.error.code, 'domain_already_in_use')
    const read = await call('GET', `/v9/projects/web/domains/${encodeURIComponent(said)}`)
    assert.deepEqual(read.body, made.body)
  }
  await call('POST', '/v10/projects/web/domains', { name: '*.example.com' })
  assert.equal((await call('GET', '/v9/projects/web/domains/*.example.com')).status, 200)
  assert.equal((await call('GET', '/v9/projects/web/domains/%2A.example.com')).status, 200)
  assert.equal((await call('GET', '/v9/projects/web/domains')).body.domains.length, 2)
})

onBothEngines('what is no domain is 400 in body and path, and writes nothing', async ({ call, deps }) => {
  await call('POST', '/v10/projects', { name: 'web' })
  const state = async () => [
    await deps.db.read.selectFrom('project_domain').selectAll().execute(),
    await deps.db.read.selectFrom('event').select('id').execute(),
    await deps.db.read.selectFrom('audit').select('id').execute(),
  ]
  const before = await state()
  for (const name of BAD) {
    const added = await call('POST', '/v10/projects/web/domains', { name })
    assert.equal(added.status, 400, name)
    if (name !== '') assert.equal(added.body.error.code, 'invalid_domain', name)
    if (/^\.*$/.test(name) || name.length > 500) continue
    const path = `/v9/projects/web/domains/${encodeURIComponent(name)}`
    for (const method of ['GET', 'DELETE'] as const) {
      const read = await call(method, path)
      assert.equal(read.status, 400, `${method} ${name}`)
      assert.equal(read.body.error.code, 'invalid_domain')
    }
    assert.equal((await call('PATCH', path, {})).status, 400)
    assert.equal((await call('POST', `${path}/verify`)).status, 400)
  }
  const bodies: unknown[] = [
    {},
    { name: null },
    { name: 5 },
    { name: ['a.example.com'] },
    { name: { a: 1 } },
    'null',
    '[]',
    '{"name":"a.example.com\\u0000"}',
    '{"name":"\\ud800.example.com"}',
    '{"__proto__":{"x":1},"name":"a.example.com"}',
    '{"name":"__proto__"}',
    { name: 'a.example.com', gitBranch: '' },
    { name: 'a.example.com', gitBranch: 'b'.repeat(251) },
    { name: 'a.example.com', gitBranch: 7 },
    { name: 'a.example.com', gitBranch: 'a\0b' },
    { name: 'a.example.com', redirect: '' },
    { name: 'a.example.com', redirect: 1 },
    { name: 'a.example.com', redirectStatusCode: 303 },
    { name: 'a.example.com', redirectStatusCode: '301' },
    { name: 'a.example.com', redirectStatusCode: 301 },
    { name: 'a.example.com', redirect: null, redirectStatusCode: 301 },
    { name: 'a.example.com', redirect: 'javascript:alert(1)' },
    { name: 'a.example.com', redirect: 'constructor' },
  ]
  for (const body of bodies)
    assert.equal((await call('POST', '/v10/projects/web/domains', body)).status, 400, JSON.stringify(body))
  assert.equal((await call('GET', '/v9/projects/web/domains/a%00b.example.com')).status, 400)
  assert.deepEqual(await state(), before)
  const longest = await call('POST', '/v10/projects/web/domains', { name: 'a.example.com', gitBranch: 'b'.repeat(250) })
  assert.equal(longest.status, 200)
})
