/** What is wrong with a field, in words for people: the API says the same in the words of its schemas. docs/console.md: Words of the pages. */

/** TABLE sentences of the validator (platform/http/validate.ts), and what a person reads in their place. `$1`: the field or a number, as the pattern says. */
const WORDS: readonly (readonly [sentence: RegExp, words: string])[] = [
  [/missing required property (`[^`]+`)/, '$1 is missing'],
  [/should NOT have fewer than 1 characters/, 'is empty'],
  [/should NOT have fewer than (\d+) characters/, 'should have at least $1 characters'],
  [/should NOT have more than (\d+) characters/, 'should have at most $1 characters'],
  [/should NOT have fewer than 1 items/, 'needs at least one choice'],
  [/should NOT have fewer than (\d+) items/, 'needs at least $1 choices'],
  [/should NOT have more than (\d+) items/, 'takes at most $1 choices'],
  [/should NOT have duplicate items .*\)/, 'has the same choice twice'],
  [/should be >= (\S+?)(?=\.?$)/, 'should be at least $1'],
  [/should be <= (\S+?)(?=\.?$)/, 'should be at most $1'],
  [/should be (?:integer|number)\b/, 'should be a number'],
]

/** A refusal in words for people. What no schema said is as it was. */
export function userMessage(message: string): string {
  if (!message.startsWith('Invalid request: ')) return message
  return WORDS.reduce((said, [sentence, words]) => said.replace(sentence, words), message)
}
