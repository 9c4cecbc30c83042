/** Detects unknown BERTH_ variables: of another version, an orchestrator, or misspelled. */
import { closestMatch } from '../base/text.ts'

/**
 * Returns a message for each unknown BERTH_ variable, with the most similar name. Omits the value, which may be a secret. Not an error: an
 * orchestrator's BERTH_PORT=tcp://…, or a downgrade, must not prevent the start.
 */
export function unknownSettings(env: Record<string, string | undefined>, names: readonly string[]): string[] {
  return Object.keys(env)
    .filter((name) => name.startsWith('BERTH_') && !names.includes(name))
    .sort()
    .map((name) => `${name} is not a setting${hint(name, names)}`)
}

function hint(name: string, names: readonly string[]): string {
  const bare = name.slice('BERTH_'.length)
  const meant = names.includes(bare) ? bare : closestMatch(name, names)
  return meant === undefined ? '' : `; did you mean ${meant}?`
}
