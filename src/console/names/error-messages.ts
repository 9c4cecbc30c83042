/** TABLE Validator messages (platform/http/validate.ts) and their form messages. `$1`: the field or number. docs/console.md: UI text. */
const MESSAGES: readonly (readonly [sentence: RegExp, words: string])[] = [
  [/missing required property (`[^`]+`)/, '$1 is missing'],
  [/should NOT have fewer than 1 characters/, 'is empty'],
  [/should NOT have fewer than (\d+) characters/, 'should have at least $1 characters'],
  [/should NOT have more than (\d+) characters/, 'should have at most $1 characters'],
  [/should NOT have fewer than 1 items/, 'needs at least one choice'],
  [/should NOT have fewer than (\d+) items/, 'needs at least $1 choices'],
  [/should NOT have more than (\d+) items/, 'allows at most $1 choices'],
  [/should NOT have duplicate items .*\)/, 'has the same choice twice'],
  [/should be >= (\S+?)(?=\.?$)/, 'should be at least $1'],
  [/should be <= (\S+?)(?=\.?$)/, 'should be at most $1'],
  [/should be (?:integer|number)\b/, 'should be a number'],
]

/** Returns a validation message in the words of the form; other messages unchanged. */
export function userMessage(message: string): string {
  if (!message.startsWith('Invalid request: ')) return message
  return MESSAGES.reduce((text, [sentence, words]) => text.replace(sentence, words), message)
}
