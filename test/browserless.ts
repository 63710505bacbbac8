/**
 * What a browser without JavaScript does on the way of a sign-in, over plain HTTP: cookies,
 * redirects and the form of the page.
 */
export class Browserless {
  private readonly jars = new Map<string, Map<string, string>>()

  /** One request, with the cookies of that host; redirects are not followed. */
  async ask(
    url: string,
    form?: Readonly<Record<string, string>>,
  ): Promise<{ status: number; location: string; text: string }> {
    const { origin, host } = new URL(url)
    const jar = this.jars.get(host) ?? new Map<string, string>()
    this.jars.set(host, jar)
    const headers: Record<string, string> = {
      accept: 'text/html',
      cookie: [...jar].map(([name, value]) => `${name}=${value}`).join('; '),
    }
    // As a page that sends no referrer does.
    if (form !== undefined) Object.assign(headers, { origin: 'null', 'sec-fetch-site': 'same-origin' })
    const body = form && new URLSearchParams(form)
    const answer = await fetch(url, {
      redirect: 'manual',
      headers,
      ...(body === undefined ? {} : { method: 'POST', body }),
    })
    for (const line of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (value === '') jar.delete(name)
      else jar.set(name, value)
    }
    const location = answer.headers.get('location')
    return {
      status: answer.status,
      location: location === null ? '' : new URL(location, origin).href,
      text: await answer.text(),
    }
  }

  /** Follows redirects to a page. */
  async open(url: string): Promise<{ status: number; url: string; text: string }> {
    let at = url
    for (let i = 0; i < 8; i++) {
      const { status, location, text } = await this.ask(at)
      if (location === '') return { status, url: at, text }
      at = location
    }
    throw new Error('too many redirects')
  }

  /**
   * From the page of a site over the sign-in page back to the site, with that credential pasted.
   */
  async signIn(
    signInUrl: string,
    credential: object,
  ): Promise<{ status: number; url: string; text: string }> {
    const page = await this.open(signInUrl)
    const field = (name: string) => new RegExp(`name="${name}" value="([^"]*)"`).exec(page.text)?.[1] ?? ''
    const form = {
      state: field('state'),
      csrf_token: field('csrf_token'),
      credential: JSON.stringify(credential),
    }
    const presented = await this.ask(new URL('/auth/present', page.url).href, form)
    if (presented.location === '') return { status: presented.status, url: page.url, text: presented.text }
    return this.open(presented.location)
  }
}
