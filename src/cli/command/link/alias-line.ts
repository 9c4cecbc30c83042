/** The line for a shell by which `vercel` asks Berth. */
import { BadUsage } from '../../command-line/command.ts'

/**
 * An alias as bash, zsh and fish all read it: `env` sets the variable in each of them, and keeps fish from calling the alias within itself.
 * Throws BadUsage for a path with a quote, a backslash or a character that nobody sees, which the three read differently.
 */
export function aliasLine(folder: string, authority: string | undefined): string {
  const trust = authority === undefined ? '' : `env NODE_EXTRA_CA_CERTS=${word(authority)} `
  const prefix = trust === '' ? 'command ' : trust
  return `alias vercel='${`${prefix}vercel -Q ${word(folder)}`.replaceAll("'", "'\\''")}'`
}

function word(path: string): string {
  if (/['\\\p{C}\p{Zl}\p{Zp}]/u.test(path))
    throw new BadUsage(
      `"${path}" has a quote, a backslash or an invisible character, which shells read differently: name another folder`,
    )
  return /^[\w./:@%+,-]+$/.test(path) ? path : `'${path}'`
}
