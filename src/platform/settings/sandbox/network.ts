/** What sandboxes reach, as a setting. docs/sandbox.md: Network. */
import { isIP } from 'node:net'
import { BadSetting, type SettingType, splitCommaList } from '../types.ts'

/** `allow`: public addresses, and these addresses and networks although they are private. */
export type SandboxNetwork = 'internet' | 'none' | { allow: readonly string[] }

/** TABLE family → bits of the largest network, one of RFC 1918 or of RFC 4193, and of an address. */
const BITS: Readonly<Record<number, readonly [least: number, most: number]>> = { 4: [8, 32], 6: [7, 128] }

/** The network of builds, or of functions. */
export const SANDBOX_NETWORK: SettingType<SandboxNetwork> = {
  values: '`internet`, `none`, or addresses and networks such as `10.1.2.3, 10.2.0.0/16`',
  read(name, text) {
    if (text === 'internet' || text === 'none') return text
    const allow = splitCommaList(text)
    for (const network of allow.length === 0 ? [text] : allow) mustBeNetwork(name, network)
    return { allow }
  },
}

function mustBeNetwork(name: string, text: string): void {
  const [, address = '', bits] = /^([^/%]+)(?:\/(\d{1,3}))?$/.exec(text) ?? []
  const [least = 0, most = 0] = BITS[isIP(address)] ?? []
  if (most === 0 || Number(bits ?? most) > most)
    throw new BadSetting(
      `${name} must be internet, none, or addresses and networks such as 10.1.2.3, 10.2.0.0/16, not "${text}"`,
    )
  if (Number(bits ?? most) < least)
    throw new BadSetting(`${name} must have no network that is larger than /${least}, and "${text}" is`)
}
