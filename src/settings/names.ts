/** Variables that begin with BERTH_ and mean nothing: an older or newer version's, an orchestrator's, or misspelt. */
import { nearest } from '../words.ts'

type Env = Record<string, string | undefined>

/**
 * `watched` is the environment, and remembers what it is asked for: these are the settings there are. `unknown` gives a sentence for
 * each variable that begins with BERTH_ and was not asked for. Its value is not in it: it may be a secret. Nothing is refused: an
 * orchestrator's BERTH_PORT=tcp://…, or going back a version, must not keep Berth down.
 */
export function watchNames(env: Env): { watched: Env; unknown(): string[] } {
  const known = new Set<string>()
  const watched = new Proxy(env, {
    get(target, name: string) {
      known.add(name)
      return target[name]
    },
  })
  return {
    watched,
    unknown: () =>
      Object.keys(env)
        .filter((name) => name.startsWith('BERTH_') && !known.has(name))
        .sort()
        .map((name) => `${name} is no setting${hint(name, [...known])}`),
  }
}

function hint(name: string, known: string[]): string {
  const bare = name.slice('BERTH_'.length)
  const meant = known.includes(bare) ? bare : nearest(name, known)
  return meant === undefined ? '' : `; did you mean ${meant}?`
}
