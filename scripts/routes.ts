/** Prints the table of routes, one line each: what is asked, what it needs, what it answers, what it may refuse. */
import { refusalsOf } from '../src/platform/http/route.ts'
import { ROUTES } from '../src/routes.ts'

for (const route of ROUTES) {
  const needs = route.auth === 'operator' ? 'operator' : (route.needs ?? []).join('+')
  console.log(
    `${route.method.padEnd(6)} ${route.path.padEnd(50)} ${needs.padEnd(28)} ${route.status}  ${refusalsOf(route).join(' ')}`,
  )
}
