/** Searches for what lies behind very much that does not fit. docs/threats.md T187. */
import { FULL } from '../form.ts'
import { type Attack, again, mustDo } from './scene.ts'

const HEAVY = FULL ? 6000 : 400
/** More than a search once looked at before it looked at all. */
const NEWEST = 600
const AT_ONCE = 8

export const searchHeavyProjects: Attack = {
  async prepare({ call, ended }) {
    const addresses = Array(1000).fill({ value: '192.0.2.1', note: 'x'.repeat(20) })
    const trustedIps = { deploymentType: 'all', protectionMode: 'additional', addresses }
    const create = async (count: number, of: (at: number) => { name: string }) => {
      let at = 0
      const one = async () => {
        while (at < count) await mustDo(call, 'POST', '/v10/projects', of(at++))
      }
      await Promise.all(Array.from({ length: AT_ONCE }, one))
    }
    await create(HEAVY, (at) => ({ name: `heavy-${at}`, trustedIps }))
    await create(NEWEST, (at) => ({ name: `light-${at}` }))
    const asked = ['search=heavy', 'search=nothing', 'search=heavy&gitForkProtection=0', 'excludeRepos=1&search=y-1']
    return () => again(ended, 64, (n) => call('GET', `/v9/projects?limit=20&${asked[n % asked.length]}`))
  },
}
