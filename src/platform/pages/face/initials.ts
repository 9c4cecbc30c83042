/** Drawings of who and what: initials in one of eight colors, by name. */
import { hash } from 'node:crypto'
import { type Html, html } from '../html.ts'

const HUES = 8

type Size = '' | 'm'

/** Renders the initials of a user for eyes only. `colored`: what picks the color: the username, where a page knows it and shows the name. */
export function avatar(name: string, size: Size = '', colored = name): Html {
  const [first = '', second] = name.split(/[\s._@-]+/).filter(Boolean)
  const letters = second === undefined ? [...first].slice(0, 1) : [[...first][0]!, [...second][0]!]
  return html`<span class="av ${size} ${hueOf(colored)}" aria-hidden="true">${letters.join('').toUpperCase()}</span>`
}

/** Renders the initial of an account or project for eyes only. */
export function tile(name: string, size: Size = ''): Html {
  return html`<span class="tile ${size} ${hueOf(name)}" aria-hidden="true">${[...name][0]?.toUpperCase()}</span>`
}

function hueOf(name: string): string {
  return `h${(hash('sha256', name, 'buffer')[0]! % HUES) + 1}`
}
