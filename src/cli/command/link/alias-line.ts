import { BadUsage } from '../../command-line/command.ts'

/**
 * Returns an alias for bash, zsh and fish: `env` sets the variable in each of them, and prevents recursion in fish. Throws BadUsage for a path with a
 * quote, a backslash or an invisible character, which the three read differently.
 */
export function aliasLine(directory: string, authority: string | undefined): string {
  const trust = authority === undefined ? '' : `env NODE_EXTRA_CA_CERTS=${word(authority)} `
  const prefix = trust === '' ? 'command ' : trust
  return `alias vercel='${`${prefix}vercel -Q ${word(directory)}`.replaceAll("'", "'\\''")}'`
}

function word(path: string): string {
  if (/['\\\p{C}\p{Zl}\p{Zp}]/u.test(path))
    throw new BadUsage(
      `"${path}" has a quote, a backslash or an invisible character, which shells read differently: name another folder`,
    )
  return /^[\w./:@%+,-]+$/.test(path) ? path : `'${path}'`
}
