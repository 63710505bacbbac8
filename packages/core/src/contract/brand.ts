import * as z from 'zod'
import { siteParams } from './administration.ts'
import { endpoint } from './endpoint.ts'
import { sha256Hex } from './fields.ts'
import { limits } from './limits.ts'
import { parseLinkUrl, parseLogoUrl, parseSupportUrl } from './urls.ts'

const link = { format: 'uri', maxLength: limits.link_url_chars_max }

const logoUrl = z
  .string()
  .refine(
    (value) => parseLogoUrl(value) !== undefined,
    'must be a canonical https URL on port 443 or 8443, without user name or fragment',
  )
  .meta({
    ...link,
    description: `Where the service fetches the logo: a PNG, WebP or JPEG of at most ${limits.logo_bytes_max / 1024} KiB and ${limits.logo_side_pixels_max} pixels on each side, not animated.`,
    examples: ['https://shop.example/logo.png'],
  })
const accent = z
  .string()
  .regex(/^#[0-9a-fA-F]{6}$/, 'must be a colour such as #0a6448')
  .meta({
    description:
      'The colour of the main button on hosted pages. Each page uses a shade of it on which text can be read.',
    examples: ['#0a6448'],
  })
const supportUrl = z
  .string()
  .refine(
    (value) => parseSupportUrl(value) !== undefined,
    'must be an https URL without user name, or mailto: with one address',
  )
  .meta({
    ...link,
    description: 'Where users get help: an https URL, or mailto: with one address.',
    examples: ['https://shop.example/help', 'mailto:help@shop.example'],
  })
const privacyUrl = z
  .string()
  .refine((value) => parseLinkUrl(value) !== undefined, 'must be an https URL without user name')
  .meta({
    ...link,
    description: 'The privacy notice of the site: an https URL.',
    examples: ['https://shop.example/privacy'],
  })

/** The look of a new site on hosted pages. */
export const brandSettings = {
  logo_url: logoUrl.optional().meta({ description: 'The logo is fetched now and kept.' }),
  accent: accent.optional(),
  support_url: supportUrl.optional(),
  privacy_url: privacyUrl.optional(),
}

/** The same in a change. */
export const brandChanges = {
  logo_url: logoUrl.nullable().optional().meta({
    description:
      'The logo is fetched now and kept. Send the same URL to fetch it again; null removes the logo.',
  }),
  accent: accent.nullable().optional().meta({ description: 'Null: the green of the service.' }),
  support_url: supportUrl.nullable().optional().meta({ description: 'Null removes the link.' }),
  privacy_url: privacyUrl.nullable().optional().meta({ description: 'Null removes the link.' }),
}

const logoPath = z.string().nullable().meta({
  description: 'Where this service serves the logo. Changes with the logo.',
})

/** The same in a response. */
export const brandMembers = {
  logo_url: logoUrl.nullable(),
  logo_path: logoPath,
  accent: accent.nullable(),
  support_url: supportUrl.nullable(),
  privacy_url: privacyUrl.nullable(),
}

/** The same for a user, who does not see where the logo comes from. */
export const shownBrandMembers = {
  logo_path: logoPath,
  accent: accent.nullable(),
  support_url: supportUrl.nullable(),
  privacy_url: privacyUrl.nullable(),
}

export const brandEndpoints = {
  site_logo: endpoint({
    method: 'GET',
    path: '/logos/{site_id}/{sha256}',
    summary: 'Get the logo of a site',
    description: 'The path contains the SHA-256 of the logo, so the response can be cached permanently.',
    tag: 'sign-in',
    auth: 'none',
    rateLimit: 'caller',
    noStore: false,
    request: { params: z.strictObject({ ...siteParams, sha256: sha256Hex }) },
    answers: {
      200: {
        description: 'The logo.',
        mediaType: 'image/png',
        otherMediaTypes: ['image/webp', 'image/jpeg'],
        headers: {
          'Cache-Control': 'Immutable.',
          'Content-Security-Policy': 'Allows nothing.',
          'X-Content-Type-Options': 'nosniff',
        },
      },
    },
    problems: ['store_unavailable'],
  }),
}
