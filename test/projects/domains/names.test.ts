/** One canonical form of a name, in bodies and in paths; what is not a name is refused and writes nothing. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BadSetting, readConfig } from '../../../src/config.ts'
import {
  apexOf,
  canonicalName,
  isPlatformName,
  mustOwnSuffix,
  nameToFind,
  sharedDomainProblem,
  wildcardsOver,
} from '../../../src/model/domain-name.ts'
import { Refusal } from '../../../src/platform/refusals/refusal.ts'
import { BAD } from './bad-names.ts'

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

for (const said of BAD) {
  test(`${JSON.stringify(said.slice(0, 60))} is not a domain`, () => {
    assert.throws(
      () => canonicalName(said, settings),
      (error) => error instanceof Refusal && error.key === 'invalid_domain',
    )
  })
}

test('a name that cannot be a domain is refused with the reason, and long names are cut in the answer', () => {
  const long = 'a'.repeat(400)
  for (const [name, reason] of [
    [long, 'it is longer than 253 characters'],
    [`${`${'a'.repeat(63)}.`.repeat(4)}com`, 'it is longer than 253 characters'],
    [`ü${'é.'.repeat(60)}com`, 'it is longer than 253 characters'],
    ['http://example.com', 'write the name alone, without spaces, "/", ":", "@", "%" and the like'],
    ['xn--a.com', 'it is not a valid internationalized name'],
    ['localhost', 'it needs at least two labels, such as example.com'],
    ['192.0.2.1', 'an IP address or a name that ends in a number is not a domain'],
    ['-a.com', 'each label is 1 to 63 letters, digits or "-", and neither begins nor ends with "-"'],
    [
      'a.local',
      '".local" is reserved for special use, and the operator has not allowed it (BERTH_SPECIAL_USE_DOMAINS)',
    ],
    ['co.uk', 'it is a public suffix, under which others register names'],
  ] as const)
    assert.throws(
      () => canonicalName(name, settings),
      (error) => {
        assert.ok(error instanceof Refusal)
        assert.equal(error.message, `Cannot use the domain name "${name.slice(0, 100)}": ${reason}.`)
        assert.deepEqual(error.extra, { domain: name.slice(0, 300) })
        return true
      },
    )
  assert.throws(
    () => nameToFind(long, settings),
    (error) => error instanceof Refusal && error.message === `There is no domain "${'a'.repeat(100)}".`,
  )
})

test('a platform suffix under which others register names is refused with the setting to change', () => {
  const refused = (suffix: string, sentence: RegExp, env: Record<string, string> = {}) =>
    assert.throws(
      () => mustOwnSuffix(readConfig({ BERTH_PLATFORM_SUFFIX: suffix, ...env }).domains),
      (error) => error instanceof BadSetting && sentence.test(error.message),
    )
  refused('co.uk', /^BERTH_PLATFORM_SUFFIX is "co\.uk", a public suffix: set a domain of your own/)
  const platform = /^BERTH_PLATFORM_SUFFIX is "github\.io", which the Public Suffix List has as .*BERTH_EDGE_CNAME/
  refused('github.io', platform)
  refused('github.io', platform, { BERTH_EDGE_CNAME: 'edge.example.com' })
  for (const env of [
    { BERTH_PLATFORM_SUFFIX: 'apps.example.com' },
    { BERTH_PLATFORM_SUFFIX: 'localhost' },
    { BERTH_PLATFORM_SUFFIX: 'github.io', BERTH_EDGE_CNAME: 'edge.github.io' },
  ])
    mustOwnSuffix(readConfig(env).domains)
})

test('a suffix that shares a registrable domain with the API is said to, unless a public suffix lies between', () => {
  const problem = (suffix: string, url: string, more: Record<string, string> = {}) =>
    sharedDomainProblem(readConfig({ BERTH_PLATFORM_SUFFIX: suffix, BERTH_PUBLIC_URL: url, ...more }))
  const sentence = /^sites below apps\.example\.com share the domain example\.com with BERTH_PUBLIC_URL/
  for (const url of ['https://berth.example.com', 'https://example.com:8443', 'https://x.apps.example.com'])
    assert.match(String(problem('apps.example.com', url)), sentence)
  assert.equal(
    problem('apps.example.com', 'https://berth.example.com', { BERTH_PLATFORM_SUFFIX_SHARED: '1' }),
    undefined,
  )
  for (const [suffix, url] of [
    ['apps.example.com', 'https://berth.example.net'],
    ['example.co.uk', 'https://example2.co.uk'],
    ['github.io', 'https://berth.github.io'],
    ['apps.localhost', 'http://localhost:3000'],
    ['apps.example.com', 'http://127.0.0.1:3000'],
  ] as const)
    assert.equal(problem(suffix, url), undefined, `${suffix} ${url}`)
  assert.equal(sharedDomainProblem(readConfig({ BERTH_PUBLIC_URL: 'https://berth.example.com' })), undefined)
})

test('special-use names are accepted where the operator allows them, and so are names under the platform suffix', () => {
  const allowed = readConfig({ BERTH_SPECIAL_USE_DOMAINS: 'test, internal' }).domains
  assert.equal(canonicalName('foo.test', allowed), 'foo.test')
  assert.equal(canonicalName('a.b.internal', allowed), 'a.b.internal')
  assert.throws(() => canonicalName('foo.local', allowed))
  const platform = readConfig({ BERTH_PLATFORM_SUFFIX: 'apps.localhost' }).domains
  assert.equal(canonicalName('web.apps.localhost', platform), 'web.apps.localhost')
  assert.throws(() => canonicalName('web.localhost', platform))
})

test('the full stops of East Asian keyboards count as dots', () => {
  for (const dot of ['。', '．', '｡']) {
    assert.equal(canonicalName(`例え${dot}jp`, settings), 'xn--r8jz45g.jp')
    assert.equal(canonicalName(`*${dot}example${dot}com${dot}`, settings), '*.example.com')
  }
})

test('10,000 spellings of names resolve to one form each or are refused', () => {
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

test('one label under the platform suffix goes to the first account; a wildcard, a deeper name and the suffix do not', () => {
  const free = (name: string) => isPlatformName(name, { platformSuffix: 'apps.example.net' })
  assert.equal(free('one.apps.example.net'), true)
  for (const name of ['*.apps.example.net', 'a.one.apps.example.net', 'apps.example.net', 'oneapps.example.net'])
    assert.equal(free(name), false, name)
})
