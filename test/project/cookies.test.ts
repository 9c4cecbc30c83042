/** The header `Cookie` has one reader, `cookiePairs` (RFC 6265 4.2.1). `trim` drops U+00A0 too, and makes one name of two. docs/deploying-sites.md: Cookies. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { root } from '../support/root.ts'

/** A source reads the header. */
const HEADER =
  /headers\.cookie\b|headers\.get\('cookie'\)|headers\['cookie'\]|\w+\(\w*headers, 'cookie'\)|\{[^{}]*\bcookie\b[^{}]*\} = [\w.]*headers\b/gi
/** A source gives the header to a function. */
const GIVEN = /\b([\w.]+)\(\s*(?:singleHeader\(\w+, 'cookie'\)|[\w.]*?headers(?:\.cookie\b|\.get\('cookie'\)))/gi

/** TABLE functions that are given the header -> why. */
const GIVEN_TO: Readonly<Record<string, string>> = {
  cookiePairs: 'reads it',
  parseCookies: 'reads it by cookiePairs',
  readOwnCookie: 'reads it by cookiePairs',
  cookiesOf:
    'of the launcher, which imports nothing of Berth, in the process of a function; functions.test.ts has its grammar',
  withoutOwnCookies: 'takes cookies off, and sends the others on as they are',
  'DRAFT.test': 'looks for a name that the function behind may read more leniently',
}

/** TABLE declaration that is about cookies and trims -> why it may. */
const TRIMS: Readonly<Record<string, string>> = {
  'sites/visitors/cookies.ts isOwn':
    'servers behind may trim a name, so those of Berth are taken off in every spelling',
  'sites/visitors/cookies.ts withoutSharedDomain': 'an attribute of a Set-Cookie, which is removed in every spelling',
}
const TRIM = /\.trim(?:Start|End)?\(/

const sources = globSync('src/**/*.ts', { cwd: root }).map((path) => ({
  path: path.slice('src/'.length),
  text: readFileSync(join(root, path), 'utf8').replaceAll(/^\s*(?:\/\*\*|\*|\/\/).*$/gm, ''),
}))

/** The top-level declarations of a source, by name. */
function declarationsOf(text: string): { name: string; body: string }[] {
  return text.split(/^(?=(?:export )?(?:async )?(?:function|const|class) )/m).map((body) => ({
    name: /^(?:export )?(?:async )?(?:function\*?|const|class) (\w+)/.exec(body)?.[1] ?? '',
    body,
  }))
}

test('the header Cookie is taken apart in one place, and nothing of a cookie is trimmed', () => {
  const given = sources.flatMap(({ path, text }) => {
    const names = [...text.matchAll(GIVEN)].map(([, name]) => name!)
    assert.equal([...text.matchAll(HEADER)].length, names.length, `${path} reads the header without cookiePairs`)
    return names
  })
  assert.deepEqual([...new Set(given)].sort(), Object.keys(GIVEN_TO).sort())
  const trims = sources.flatMap(({ path, text }) =>
    declarationsOf(text)
      .filter(({ name, body }) => TRIM.test(body) && (/cookie/i.test(body) || `${path} ${name}` in TRIMS))
      .map(({ name }) => `${path} ${name}`),
  )
  assert.deepEqual(trims.sort(), Object.keys(TRIMS).sort(), 'use cookiePairs, or withoutBlanks')
})
