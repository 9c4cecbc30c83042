/** The banned words: docs/style.md: Words. What names them, where they are allowed, and what is read of a file. */
export type Found = { at: number; word: string; write: string }

/** TABLE banned word → its forms, and what to write. A space stands for any white space, a line break included. */
const WORDS: [word: string, forms: string, write: string][] = [
  ['whoever', 'whoever', 'a concrete subject: the operator, a user, a client'],
  ['who acts', 'who acts', 'the caller'],
  ['anew', 'anew', 'again, or re-: reread, rebuild'],
  ['tell', 'tells?|told|telling', 'send, notify, return, report, log, distinguish'],
  ['hear', 'hears?|heard|hearing', 'receive, subscribe to, be notified'],
  ['mend', 'mend(s|ed|ing)?', 'fix, repair, correct'],
  ['beside', 'besides?', 'next to, in addition to, with'],
  ['by itself', 'by (itself|themselves)', 'automatically, alone, on its own'],
  ['all the same', 'all the same', 'anyway, still'],
  ['by which', 'by (which|whom)', 'with, that, using'],
  ['of late', 'of late', 'recently'],
  [
    'give back',
    '(giv(e|es|en|ing)|gave) ((it|them|him|one|this|that|the \\w+|a \\w+) )?back',
    'release, refund, return',
  ],
  [
    'take back',
    '(tak(e|es|en|ing)|took) ((it|them|him|one|this|that|the \\w+|a \\w+) )?back',
    'revoke, withdraw, undo',
  ],
  [
    'take over',
    '(tak(e|es|en|ing)|took) ((it|them|him|one|this|that|the \\w+|a \\w+) )?over',
    'take ownership, assign',
  ],
  ['lead to', '(leads?|led|leading) to', 'point to, redirect to, serve; cause'],
  ['nobody', 'nobody', 'no user, no client, or the active sentence'],
  ['somebody', '(some|any|every)body', 'a user, an attacker, anyone'],
  ['moment', 'moments?', 'time, timestamp'],
  ['under way', 'under way', 'in progress, in flight'],
  ['shut', '(shuts?|shutting)(?! ?down\\b)', 'lock out, block, close'],
  ['worry', 'worr(y|ies|ied)', 'warning'],
  ['prove', 'prov(e|es|ed|en|ing)|proofs?', 'verify (domains), show, assertion (passkeys)'],
  ['seldom', 'seldom', 'rarely'],
  ['at the most', 'at the (most|least)', 'at most, at least'],
  ['is away', '(is|are|was|were) away', 'is unavailable'],
  [
    'let in',
    '(lets?|letting) ((it|them|him|one|this|that|\\w+s) )?in(?! (a|an|the|its|their|one|place|flight|use)\\b)',
    'admit, authenticate, allow',
  ],
  ['owed', 'owed', 'pending'],
  ['fault', 'faults?', 'error, failure, finding'],
  ['trouble', 'troubles?', 'problem, error'],
  ['believe', 'believ(e|es|ed|ing)', 'trust, accept'],
  ['doubt', 'doubt(s|ed)?', 'suspect'],
  ['wish', 'wish(es|ed)?', 'request, call'],
  ['vouch', 'vouch(es|ed)?', 'assert, confirm'],
  ['cut short', 'cut short', 'interrupted'],
  ['stranger', 'strangers?', 'unauthenticated client'],
  ['is no', '(?<!\\bthere )(is|are|was|were) no(?! (longer|more)\\b)', 'is not a'],
  ['there is none', 'there (is|are) none', 'does not exist, the list is empty'],
  ['person', 'persons?|people', 'user, users'],
  ['in clear', 'in clear', 'in plaintext, decrypted'],
  [
    'British spelling',
    'colour(s|ed)?|labell(ed|ing)|neighbour(s|ing)?|(fav|flav|hon)ours?|behaviours?|licences?|licenced',
    'American spelling: color, label, neighbor, favor, behavior, license',
  ],
]

const ANY = new RegExp(
  `\\b(?:${WORDS.map(([, forms], at) => `(?<w${at}>${forms.replaceAll(' ', '\\s+')})`).join('|')})\\b`,
  'gi',
)

/** Finds the banned words of a text of sentences. `exceptions` are phrases that may have them. */
export function bannedIn(sentences: string, exceptions: RegExp[] = []): Found[] {
  const text = exceptions.reduce((rest, phrase) => rest.replace(new RegExp(phrase, 'gi'), blank), sentences)
  return [...text.matchAll(ANY)].map((found) => {
    const at = Object.values(found.groups!).findIndex((form) => form !== undefined)
    return { at: found.index, word: WORDS[at]![0], write: WORDS[at]![2] }
  })
}

/** What begins with a mark that can hold other marks: a comment, a string, a regular expression, a template, a brace. */
const TOKEN =
  /\/\*[\s\S]*?\*\/|\/\/.*|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|(?<=(?:[(,=:[!&|?{};+*%<>~^-]|\b(?:return|case|of|in))\s*)\/(?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/|[`{}]/g
const IN_TEMPLATE = /(?:[^`\\$]|\\[\s\S]|\$(?!\{))*(?:`|\$\{)/y

/** Blanks all of a TypeScript file that is not a comment or a text: a string with a space, or a template. Offsets stay. */
export function sentencesOfCode(text: string): string {
  const open: ('{' | '${')[] = []
  const token = new RegExp(TOKEN)
  let sentences = ''
  for (let found = token.exec(text); found !== null; found = token.exec(text)) {
    const [mark] = found
    const isTemplate = mark === '`' || (mark === '}' && open.pop() === '${')
    if (mark === '{') open.push('{')
    if (!isTemplate && !/^(\/[/*]|['"](?=.*\w).*\s)/.test(mark)) continue
    sentences += blank(text.slice(sentences.length, found.index))
    if (isTemplate) {
      IN_TEMPLATE.lastIndex = token.lastIndex
      if (IN_TEMPLATE.exec(text)![0].endsWith('{')) open.push('${')
      token.lastIndex = IN_TEMPLATE.lastIndex
    }
    const span = text.slice(found.index, token.lastIndex)
    sentences += isTemplate ? span.replace(/^`|`$/g, ' ') : span
  }
  const marks = /^[ \t]*(\*|\/\/)|\b(id|class|for|aria-\w+|name|href)="[^"]*"?/gm
  return withoutNames(sentences.replace(marks, blank))
}

/** Blanks the names of a text: what stands in code marks, targets of links, paths. Offsets stay. */
export function withoutNames(text: string): string {
  return text
    .replace(/`[^`\n]*`/g, blank)
    .replace(/\]\([^)\s]*\)/g, blank)
    .replace(/(?<![\w/.-])[\w.-]+(\/[\w.-]+)*(\/|\.(ts|md|mjs))(?!\w)/g, blank)
}

function blank(text: string): string {
  return text.replace(/\S/g, ' ')
}
