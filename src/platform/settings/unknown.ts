/** Variables that begin with BERTH_ and mean nothing: an older or newer version's, an orchestrator's, or misspelt. */
import { closestMatch } from '../base/text.ts'

/**
 * Gives a sentence for each variable that begins with BERTH_ and is not among the `known` names, with the nearest of them. Its value
 * is not in the sentence, because it may be a secret. Nothing is refused: an orchestrator's BERTH_PORT=tcp://…, or going back a
 * version, must not keep Berth down.
 */
export function unknownSettings(env: Record<string, string | undefined>, names: readonly string[]): string[] {
  return Object.keys(env)
    .filter((name) => name.startsWith('BERTH_') && !names.includes(name))
    .sort()
    .map((name) => `${name} is no setting${hint(name, names)}`)
}

function hint(name: string, names: readonly string[]): string {
  const bare = name.slice('BERTH_'.length)
  const meant = names.includes(bare) ? bare : closestMatch(name, names)
  return meant === undefined ? '' : `; did you mean ${meant}?`
}
