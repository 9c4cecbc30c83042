/** Operation 2: its filters, its search, its pages. Specification: List projects; docs/spec/decisions.md: Projects, Pagination. */
import assert from 'node:assert/strict'
import { linkRepository } from '../../support/states.ts'
import { onBothEngines, type World } from '../../support/world.ts'

async function names({ call }: World, query: string): Promise<string[]> {
  const answer = await call('GET', `/v9/projects?limit=100&${query}`)
  assert.equal(answer.status, 200, `${query}: ${answer.text}`)
  return answer.body.projects.map((project: { name: string }) => project.name).sort()
}

async function make({ call }: World, ...wanted: string[]): Promise<void> {
  for (const name of wanted) assert.equal((await call('POST', '/v10/projects', { name })).status, 200, name)
}

onBothEngines(
  'projects are found by their production domains, as `domains inspect` and `domains rm` look',
  async (world) => {
    await make(world, 'a', 'b', 'c', 'd')
    const add = async (project: string, domain: object) =>
      assert.equal((await world.call('POST', `/v10/projects/${project}/domains`, domain)).status, 200)
    await add('a', { name: 'example.com' })
    await add('b', { name: 'www.example.com' })
    await add('b', { name: 'b.org', redirect: 'www.example.com' })
    await add('c', { name: 'dev.example.com', gitBranch: 'dev' })
    const kept: Record<string, string> = {
      'hasProductionDomains=1': 'ab',
      'hasProductionDomains=0': 'abcd',
      'hasProductionDomains=1&domain=example.com': 'ab',
      'domain=EXAMPLE.com': 'ab',
      'domain=www.example.com': 'b',
      'domain=b.org': 'b',
      'domain=dev.example.com': '',
      'domain=ample.com': '',
      'domain=': '',
    }
    for (const [query, wanted] of Object.entries(kept))
      assert.equal((await names(world, query)).join(''), wanted, query)
    const asked = await world.call('GET', '/v2/projects/?hasProductionDomains=1&limit=50&domain=www.example.com')
    assert.deepEqual([asked.status, JSON.parse(asked.text).projects.length], [200, 1])
    // Domains of another account are of no project here.
    const rival = await world.user('rival')
    assert.deepEqual((await rival.call('GET', '/v9/projects?domain=example.com')).body.projects, [])
  },
)

onBothEngines('every filter returns exactly the matching projects, alone and together', async (world) => {
  await make(world, 'a', 'b', 'c', 'd')
  await linkRepository(world, 'a', 'org/one', '1')
  await linkRepository(world, 'b', 'org/one', '1')
  await linkRepository(world, 'c', 'org/two', '2')
  await world.call('PATCH', '/v9/projects/b', { gitForkProtection: false })
  const kept: Record<string, string> = {
    '': 'abcd',
    'repo=org/one': 'ab',
    'repo=org%2Ftwo': 'c',
    'repo=org': '',
    'repo=': '',
    'repoId=2': 'c',
    'repoId=02': '',
    'repoUrl=https://git.example.com/org/one': 'ab',
    'repoUrl=https%3A%2F%2Fgit.example.com%2Forg%2Ftwo': 'c',
    'excludeRepos=1': 'd',
    'excludeRepos=true': 'd',
    'excludeRepos=org/one': 'cd',
    'excludeRepos=org/one,org/two': 'd',
    'excludeRepos=none': 'abcd',
    'excludeRepos=': 'abcd',
    'gitForkProtection=1': 'acd',
    'gitForkProtection=0': 'b',
    'repo=org/one&gitForkProtection=0': 'b',
    'repo=org/one&search=a': 'a',
    'edgeConfigId=ecfg_1': '',
    'edgeConfigTokenId=t': '',
    'deprecated=true': 'abcd',
    'deprecated=false': 'abcd',
  }
  for (const [query, wanted] of Object.entries(kept)) assert.equal((await names(world, query)).join(''), wanted, query)
})

onBothEngines('search is a substring of the name, blind to case, and its characters mean themselves', async (world) => {
  await make(world, 'web', 'my-web', 'a_b', 'axb', 'a.b', 'xyz')
  const found: Record<string, string[]> = {
    web: ['my-web', 'web'],
    WEB: ['my-web', 'web'],
    'y-W': ['my-web'],
    a_b: ['a_b'],
    _: ['a_b'],
    '.': ['a.b'],
    '%': [],
    'w%b': [],
    '\\': [],
    'a\\_b': [],
    '!': [],
    '!_': [],
    "' or 1=1 --": [],
    '"': [],
    '*': [],
    '[a]': [],
    é: [],
    İ: [],
    '🙂': [],
  }
  for (const [search, wanted] of Object.entries(found)) {
    assert.deepEqual(await names(world, `search=${encodeURIComponent(search)}`), wanted, search)
  }
  assert.equal((await names(world, 'search=')).length, 6)
})

onBothEngines('a limit is 1 to 100; anything else, and any other wrong value, is 400 and named', async (world) => {
  await make(world, ...Array.from({ length: 22 }, (_, at) => `p${at}`))
  const page = async (query: string) => (await world.call('GET', `/v9/projects?${query}`)).body
  assert.equal((await page('')).projects.length, 20)
  assert.deepEqual([(await page('limit=1')).projects.length, (await page('limit=100')).projects.length], [1, 22])
  assert.equal((await page('limit=007')).projects.length, 7)
  const wrong = [
    'limit=0',
    'limit=101',
    'limit=abc',
    'limit=',
    'limit=-1',
    'limit=1.5',
    'limit=1e1',
    'limit=0x10',
    'limit=%2010',
  ]
  wrong.push(
    'limit=99999999999999999999',
    'limit=NaN',
    'limit=1,2',
    'from=abc',
    'from=-1',
    'from=',
    'until=x',
    'until=-1',
    'until=1.5',
  )
  wrong.push(
    'gitForkProtection=2',
    'gitForkProtection=true',
    'deprecated=maybe',
    `search=${'x'.repeat(257)}`,
    'until=99999999999999999',
  )
  for (const query of wrong) {
    const answer = await world.call.try('GET', `/v9/projects?${query}`)
    assert.deepEqual([answer.status, answer.body.error?.code], [400, 'bad_request'], query)
    assert.match(answer.body.error.message, new RegExp(`\`${query.split('=')[0]}\``), query)
  }
})

onBothEngines(
  'the newest change comes first; from and until take timestamps and cursors, both exclusive',
  async (world) => {
    const { call, deps } = world
    const start = 1_900_000_000_000
    for (const [at, name] of ['a', 'b', 'c', 'd', 'e'].entries()) {
      deps.clock.set(start + at * 1000)
      await make(world, name)
    }
    deps.clock.set(start + 9000)
    await call('PATCH', '/v9/projects/b', { devCommand: 'x' })
    const first = (await call('GET', '/v9/projects?limit=3')).body
    assert.deepEqual(
      first.projects.map((project: { name: string }) => project.name),
      ['b', 'e', 'd'],
    )
    const moment = Object.fromEntries(
      (await call('GET', '/v9/projects')).body.projects.map(({ name, updatedAt }) => [name, updatedAt]),
    ) as Record<'a' | 'b' | 'c' | 'd' | 'e', number>
    assert.ok(moment.b >= start + 9000 && moment.c < moment.d && moment.d < moment.e)
    assert.equal((await names(world, `from=${moment.c}`)).join(''), 'bde')
    assert.equal((await names(world, `from=${moment.c - 1}`)).join(''), 'bcde')
    assert.equal((await names(world, `until=${moment.d}`)).join(''), 'ac')
    assert.equal((await names(world, `until=${moment.d + 1}`)).join(''), 'acd')
    assert.equal((await names(world, `from=${moment.a}&until=${moment.e}`)).join(''), 'cd')
    assert.equal((await names(world, `until=${first.pagination.next}`)).join(''), 'ac')
    assert.equal((await names(world, `from=${first.pagination.next}`)).join(''), 'ac')
    assert.equal((await names(world, 'from=0')).join(''), 'abcde')
    assert.equal((await names(world, 'until=0')).join(''), '')
    for (const far of ['100000000000000', '9007199254740991', '9999999999999999']) {
      assert.equal((await names(world, `until=${far}`)).join(''), 'abcde', far)
    }
  },
)

onBothEngines('a page has count, next and prev, and links to the next page with the same filters', async (world) => {
  await make(world, ...Array.from({ length: 7 }, (_, at) => `p${at}`), 'other')
  const { call } = world
  let url: string | undefined = '/v9/projects?limit=3&search=P&gitForkProtection=1'
  const pages = []
  while (url) {
    const page: string = url
    const answer = await call('GET', page as '/v9/projects')
    pages.push(answer.body)
    const link: string | undefined = answer.headers.link as string | undefined
    assert.equal(link === undefined, answer.body.pagination.next === null)
    url = link && /^<([^>]+)>; rel="next"$/.exec(link)?.[1]
  }
  assert.deepEqual(
    pages.map((page) => page.pagination.count),
    [3, 3, 1],
  )
  assert.deepEqual(
    pages.map((page) => page.pagination.prev === null),
    [true, false, false],
  )
  const seen = pages.flatMap((page) => page.projects.map((project: { name: string }) => project.name))
  assert.deepEqual(seen, ['p6', 'p5', 'p4', 'p3', 'p2', 'p1', 'p0'])
  const whole = (await call('GET', '/v9/projects?limit=8')).body.pagination
  assert.deepEqual(whole, { count: 8, next: null, prev: null })
  const sdk = await call('GET', `/v9/projects?limit=3&from=${pages[0]!.pagination.next}`)
  assert.match(String(sdk.headers.link), /^<\/v9\/projects\?limit=3&until=\d+>; rel="next"$/)
})
