/** Passwords that have to be hashed: wrong ones of unauthenticated clients, and new ones of a tenant. docs/threats.md T184. */
import { Agent } from 'node:http'
import { type Attack, again, mustDo } from './scene.ts'
import { send } from './send.ts'

const ADDRESSES = 32

/** As many as the limit of each address lets through, and then some. */
export const guessAtSignIn: Attack = {
  async prepare({ running, ended }) {
    const { cookies, text } = await send(running.address, { method: 'GET', path: '/sign-in' })
    const cookie = cookies.map((line) => line.split(';')[0]).join('; ')
    const form = /name="form" value="([^"]+)"/.exec(text)![1]!
    const agents = Array.from({ length: ADDRESSES }, () => new Agent({ keepAlive: true }))
    const guess = (n: number) =>
      send(running.address, {
        method: 'POST',
        path: '/sign-in',
        headers: { cookie, 'content-type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams({ form, name: 'neighbor-owner', password: `wrong password ${n}` }).toString(),
        agent: agents[n % ADDRESSES]!,
        from: `127.0.0.${2 + (n % ADDRESSES)}`,
      })
    return async () => {
      await again(ended, 2 * ADDRESSES, guess)
      for (const agent of agents) agent.destroy()
    }
  },
}

export const setPasswords: Attack = {
  async prepare({ call, ended }) {
    await mustDo(call, 'POST', '/v10/projects', { name: 'web' })
    return () =>
      again(ended, 64, (n) =>
        call('PATCH', '/v9/projects/web', { passwordProtection: { deploymentType: 'all', password: `new ${n}` } }),
      )
  },
}
