/** A browser without a window, for tests: keeps cookies, fills in forms of the page it is on, follows nothing automatically. */
import assert from 'node:assert/strict'
import { csrfTokenOf } from '../../../src/platform/pages/cookies.ts'
import type { World } from '../world.ts'

export type PageResponse = { status: number; text: string; headers: Record<string, unknown>; location: string }
export type Fields = Record<string, string | string[]>

export type Client = {
  cookies: Map<string, string>
  get(url: string, headers?: Record<string, string>): Promise<PageResponse>
  /** Posts to `url` with the CSRF token of the latest page, unless the fields have another. */
  post(url: string, fields?: Fields, headers?: Record<string, string>): Promise<PageResponse>
  /** Posts the token of the page seen last, and behind it `encoded` as it is: fields that no browser would encode so. */
  postEncoded(url: string, encoded: string): Promise<PageResponse>
  /** The token of the forms of the page seen last. */
  token(): string
}

/** A browser that was nowhere yet. */
export function openClient(world: World): Client {
  const cookies = new Map<string, string>()
  let token = ''
  const ask = async (method: 'GET' | 'POST', url: string, payload?: string, headers: Record<string, string> = {}) => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const answer = await world.app.inject({
      method,
      url,
      ...(payload !== undefined && { payload }),
      headers: {
        ...(cookie !== '' && { cookie }),
        ...(method === 'POST' && { 'content-type': 'application/x-www-form-urlencoded' }),
        ...headers,
      },
    })
    for (const line of [answer.headers['set-cookie'] ?? []].flat()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (/Max-Age=0/.test(line)) cookies.delete(name)
      else cookies.set(name, value)
    }
    token = /name="form" value="([^"]+)"/.exec(answer.payload)?.[1] ?? token
    const location = String(answer.headers.location ?? '')
    return { status: answer.statusCode, text: answer.payload, headers: answer.headers, location }
  }
  return {
    cookies,
    token: () => token,
    get: (url, headers) => ask('GET', url, undefined, headers),
    post: (url, fields = {}, headers) => {
      const body = new URLSearchParams()
      for (const [name, value] of Object.entries({ form: token, ...fields })) {
        for (const one of [value].flat()) body.append(name, one)
      }
      return ask('POST', url, body.toString(), headers)
    },
    postEncoded: (url, encoded) => ask('POST', url, `${new URLSearchParams({ form: token })}&${encoded}`),
  }
}

export const PASSWORD = 'correct horse battery'

/** Gives a user a password by a link, as the operator and the user do it. Ends the session in which that leaves them. */
export async function seedPassword(world: World, userId: string, password = PASSWORD): Promise<void> {
  const { body } = await world.operator('POST', `/operator/v1/users/${userId}/password-link`)
  const path = pathOf(body.url)
  const client = openClient(world)
  assert.equal((await client.get(path)).status, 200)
  const set = await client.post(path, { password, again: password })
  assert.equal(set.status, 303, set.text)
  const [, session] = [...client.cookies].find(([name]) => name.endsWith('berth_session')) ?? []
  if (session === undefined) return assert.match(set.location, /^\/sign-in\/code/)
  assert.equal((await client.post('/sign-out', { form: csrfTokenOf(session) })).location, '/sign-in')
}

/** A browser in which this user is signed in. The first user when none is named. */
export async function openSignedInClient(
  world: World,
  userId = world.credentials.userId,
  name = 'admin',
): Promise<Client> {
  await seedPassword(world, userId)
  const client = openClient(world)
  await client.get('/sign-in')
  const answer = await client.post('/sign-in', { name, password: PASSWORD })
  assert.equal(answer.status, 303, answer.text)
  return client
}

/** Path and query of a URL. */
export function pathOf(url: string): string {
  const { pathname, search } = new URL(url)
  return `${pathname}${search}`
}
