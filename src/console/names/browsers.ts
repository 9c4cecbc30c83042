import { type Html, html } from '../../platform/pages/html.ts'

/** TABLE Browsers and systems: marks in user agents, the more specific first. */
const BROWSERS = {
  'Edg/': 'Edge',
  'EdgA/': 'Edge',
  'EdgiOS/': 'Edge',
  'OPR/': 'Opera',
  'Firefox/': 'Firefox',
  'FxiOS/': 'Firefox',
  'Chrome/': 'Chrome',
  'CriOS/': 'Chrome',
  'Safari/': 'Safari',
}
const SYSTEMS = {
  Android: 'Android',
  iPhone: 'iPhone',
  iPad: 'iPad',
  Windows: 'Windows',
  'Mac OS': 'macOS',
  CrOS: 'ChromeOS',
  Linux: 'Linux',
}
/** Every browser names itself within these characters. */
const MOST = 512

/** Returns the browser of a user agent, such as `Firefox on Linux`; undefined for an unknown one. */
export function browserName(agent: string | null | undefined): string | undefined {
  const head = agent?.slice(0, MOST)
  const nameIn = (table: Record<string, string>) => Object.entries(table).find(([mark]) => head?.includes(mark))?.[1]
  const [browser, system] = [nameIn(BROWSERS), nameIn(SYSTEMS)]
  return browser === undefined || system === undefined ? browser : `${browser} on ${system}`
}

/** Returns the browser of a session, or what is known of it. */
export function sessionBrowser(agent: string | null): string {
  return browserName(agent) ?? (agent?.slice(0, 40) || 'Unknown browser')
}

/** Renders the cells with the browser and the IP address of a session. `mark`: next to the browser. */
export function placeCells(agent: string | null, address: string | null, mark?: Html | false): Html {
  return html`<td>${sessionBrowser(agent)}${mark}</td><td>${address ?? html`<span class="soft">Not recorded</span>`}</td>`
}
