/** Names and counts on the pages of the operator. docs/console.md: Operator. */
import assert from 'node:assert/strict'
import { sql } from 'kysely'
import { openAuthenticator, optionsIn } from '../../support/clients/authenticator.ts'
import { type Client, openSignedInClient } from '../../support/clients/browser-client.ts'
import { FACTORS, setUpCodes } from '../../support/clients/second-factor.ts'
import { onBothEngines, type World } from '../../support/world.ts'

const ROOT = '/console/operator'
/** Passkeys need it. */
const HTTPS = { BERTH_PUBLIC_URL: 'https://berth.example' }

onBothEngines('deliveries name the account and the endpoint, and of a URL only the host', async (world) => {
  const client = await openSignedInClient(world)
  const url = 'https://hooks.example.com/secret-path?key=secret'
  const hook = (await world.call('POST', '/v1/webhooks', { url, events: ['project.created'] })).body
  await world.call('POST', '/v10/projects', { name: 'web' })
  const { text } = await client.get(`${ROOT}/deliveries`)
  const { userId } = world.credentials
  assert.match(text, new RegExp(`href="${ROOT}/people/${userId}" title="${userId}">admin<`))
  assert.match(text, new RegExp(`<span title="${hook.id}">Webhook to hooks\\.example\\.com</span>`))
  assert.doesNotMatch(text, /secret/)
  await world.call('DELETE', `/v1/webhooks/${hook.id}`)
  assert.match((await client.get(`${ROOT}/deliveries`)).text, new RegExp(`Removed endpoint[\\s\\S]*${hook.id}`))
})

onBothEngines('the button that revokes a token names it, by its id where it has no name', async (world) => {
  const client = await openSignedInClient(world)
  const { userId } = world.credentials
  const create = async (name?: string): Promise<string> =>
    (await world.operator('POST', '/operator/v1/tokens', { userId, name })).body.id
  const [named, unnamed] = [await create('for CI'), await create()]
  const { text } = await client.get(`${ROOT}/tokens`)
  for (const [id, name, label] of [
    [named, 'for CI', 'for CI'],
    [unnamed, 'No name', unnamed],
  ] as const) {
    const row = text.split(/<tr(?=[ >])/).find((one) => one.includes(`<code class="small">${id}</code>`)) ?? ''
    assert.ok(row.includes(`>${name}<br>`), row)
    assert.ok(row.includes(`aria-label="Revoke: ${label}"`), row)
  }
})

onBothEngines(
  'the page of a user names each second factor, and removes them where there is one',
  async (world) => {
    const operator = await openSignedInClient(world)
    const factorsOf = async (id: string) => {
      const { text } = await operator.get(`${ROOT}/people/${id}`)
      const [, words] = /<h2>Second factors<\/h2>.*?<p>([^<]*)<\/p>/s.exec(text)!
      return [words, text.includes('<h2>Remove second factors</h2>')]
    }
    const addPasskey = async (client: Client) => {
      const answer = openAuthenticator(HTTPS.BERTH_PUBLIC_URL).create(optionsIn(await client.get(FACTORS)))
      await client.post(`${FACTORS}/passkeys`, { answer, name: 'Laptop' })
    }
    const [ada, bob] = [await world.user('ada'), await world.user('bob')]
    assert.deepEqual(await factorsOf(ada.id), ['None. Password only.', false])
    const laptop = await openSignedInClient(world, ada.id, 'ada')
    await addPasskey(laptop)
    assert.deepEqual(await factorsOf(ada.id), ['Set up: 1 passkey.', true])
    await addPasskey(laptop)
    assert.deepEqual(await factorsOf(ada.id), ['Set up: 2 passkeys.', true])
    const phone = await openSignedInClient(world, bob.id, 'bob')
    await setUpCodes(world, phone)
    assert.deepEqual(await factorsOf(bob.id), ['Set up: one-time codes.', true])
    await addPasskey(phone)
    assert.deepEqual(await factorsOf(bob.id), ['Set up: one-time codes and 1 passkey.', true])
  },
  HTTPS,
)

onBothEngines('a user with as many tokens as are listed may have more, and the page says so', async (world) => {
  const client = await openSignedInClient(world)
  const ada = await world.user('ada')
  const path = `${ROOT}/people/${ada.id}`
  const tokensIn = async () => /<dt>Tokens<\/dt><dd>(.*?)<\/dd>/.exec((await client.get(path)).text)![1]!
  const few = Number.parseInt(await tokensIn(), 10)
  for (let n = few; n < 99; n++) await ada.call('POST', '/v3/user/tokens', { name: `t${n}` })
  const link = `<a href="${ROOT}/tokens?search=ada">Show tokens</a>`
  assert.equal(await tokensIn(), `99 ${link}`)
  await ada.call('POST', '/v3/user/tokens', { name: 'hundred' })
  assert.equal(await tokensIn(), `100 or more ${link}`)
})

/** Whenever an account is created, all sign-ins are old: as where the hour ends between the account and its link. */
async function ageSessionsWithAccounts({ deps, engine }: World): Promise<void> {
  const run = (text: string) => deps.db.write((tx) => sql.raw(text).execute(tx))
  const aged = 'update session set confirmed_at = 0'
  if (engine === 'sqlite') return void (await run(`create trigger aged after insert on account begin ${aged}; end`))
  await run(`create function aged() returns trigger language plpgsql as 'begin ${aged}; return new; end'`)
  await run('create trigger aged after insert on account for each row execute function aged()')
}

/** TABLE Forms that create an account and its link. */
const INVITE_FORMS: readonly (readonly [path: string, fields: Record<string, string>])[] = [
  [`${ROOT}/people/invite`, {}],
  ['/console/t/team/members/invite', { role: 'VIEWER' }],
]

for (const [path, fields] of INVITE_FORMS)
  onBothEngines(`an account that was created without its link says so, and gives the link: ${path}`, async (world) => {
    const client = await openSignedInClient(world)
    await client.get(path)
    await ageSessionsWithAccounts(world)
    const made = await client.post(path, { ...fields, email: 'ada@example.com', username: 'ada' })
    assert.equal(made.status, 200, made.text)
    assert.match(
      made.text,
      /role="alert"[\s\S]*The account <strong>ada<\/strong> is created, but its password link is not/,
    )
    const [, link] = /action="([^"]*\/people\/usr_\w+\/link)"/.exec(made.text)!
    assert.match((await client.post(link!)).text, /name="password"/, 'the password is asked for first')
  })
