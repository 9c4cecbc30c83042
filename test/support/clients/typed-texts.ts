/** What users and attackers type into forms. */
export const TYPED = [
  '',
  '😀 emoji 👩‍👩‍👧',
  'مرحبا بالعالم \u202e reversed',
  '"><script>alert(1)</script>',
  "'; drop table project; --",
  'x'.repeat(6000),
  'a\u0001b',
]
