/** Rules of a network that refuse nothing, as a control. The sets remain, so that addresses can be added to them. */
import { networkRules } from '../../src/sandbox/network/rules.ts'

export const withoutRules: typeof networkRules = (...words) =>
  networkRules(...words).replace(/^ {2}chain .*^ {2}\}$/ms, '')
