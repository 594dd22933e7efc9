//! How requests fail, in groups that routes have in common.

use std::collections::BTreeMap;

use utoipa::{
    IntoResponses, PartialSchema,
    openapi::{
        ContentBuilder, HeaderBuilder, Ref, RefOr, Response, ResponseBuilder, Type,
        schema::{ObjectBuilder, OneOfBuilder, Schema},
    },
};

type Responses = BTreeMap<String, RefOr<Response>>;

/// Statuses with what they mean.
type Meant = [(u16, &'static str)];

const KNOWN: &Meant = &[
    (401, "There is no key, or it does not count."),
    (403, "The key is not good for this, or the request comes from a page of somebody else."),
    (429, "The tenant has had what it may have for now."),
    (500, "Something is wrong in the server."),
    (503, "The server cannot do it now."),
];
const INVALID: &Meant = &[(400, "The request cannot be understood.")];
const BODY: &Meant =
    &[(400, "The request cannot be understood."), (408, "The body took too long."), (413, "The body is too large.")];
const ABSENT: &Meant = &[(404, "There is no such thing, or it is somebody else's.")];
const TAKEN: &Meant = &[(409, "It is in use, or there already.")];
const UNFIT: &Meant = &[(422, "What is asked for cannot be.")];

/// Groups of problems that a route names.
macro_rules! groups {
    ($($(#[$meaning:meta])* $name:ident = $meant:expr;)+) => {$(
        $(#[$meaning])*
        pub(crate) enum $name {}

        impl IntoResponses for $name {
            fn responses() -> Responses {
                described($meant, "application/problem+json", &|| named("Problem"))
            }
        }
    )+};
}

groups! {
    /// Of every route for which it has to be known who asks.
    Known = KNOWN;
    /// Of a route for everybody.
    Open = &[(403, "The request is meant for another server."), (500, "Something is wrong in the server.")];
    /// Of a route with a query or a header that can be wrong.
    Invalid = INVALID;
    /// Of a route that takes a body.
    Body = BODY;
    /// Of a route to one thing.
    Absent = ABSENT;
    /// Of a route that changes something that others may change.
    Taken = TAKEN;
    /// Of a route that can be asked for what cannot be.
    Unfit = UNFIT;
}

/// Of the routes for clients of others.
macro_rules! theirs {
    ($($(#[$meaning:meta])* $name:ident: [$($group:expr),+] as $schema:expr;)+) => {$(
        $(#[$meaning])*
        pub(crate) enum $name {}

        impl IntoResponses for $name {
            fn responses() -> Responses {
                let groups = [$($group),+].into_iter();
                groups.flat_map(|meant| described(meant, "application/json", &$schema)).collect()
            }
        }
    )+};
}

theirs! {
    /// As clients of OpenAI read them.
    OpenAi: [KNOWN, BODY, ABSENT, TAKEN, UNFIT] as || named("OpenAiFailure");
    /// As clients of Anthropic read them.
    Anthropic: [KNOWN, BODY, ABSENT, TAKEN, UNFIT] as || named("AnthropicFailure");
    /// As either reads them, where both ask.
    Either: [KNOWN, ABSENT] as || {
        let either = OneOfBuilder::new().item(named("OpenAiFailure")).item(named("AnthropicFailure"));
        RefOr::T(Schema::OneOf(either.build()))
    };
}

fn named(schema: &str) -> RefOr<Schema> {
    RefOr::Ref(Ref::from_schema_name(schema))
}

fn described(meant: &Meant, kind: &str, schema: &dyn Fn() -> RefOr<Schema>) -> Responses {
    let responses = meant.iter().map(|(status, text)| {
        let content = ContentBuilder::new().schema(Some(schema())).build();
        let mut response = ResponseBuilder::new().description(*text).content(kind, content);
        let header = |text: &str, schema: ObjectBuilder| {
            HeaderBuilder::new().schema(Some(schema.build())).description(Some(text)).build()
        };
        if [429, 503].contains(status) {
            let seconds = ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(1));
            response = response.header("Retry-After", header("When to come again, in seconds.", seconds));
        }
        if *status == 401 {
            let scheme = ObjectBuilder::new().schema_type(Type::String);
            response = response.header("WWW-Authenticate", header("`Bearer`.", scheme));
        }
        (status.to_string(), RefOr::T(response.build()))
    });
    responses.collect()
}

/// A stream of server-sent events, as a text.
pub(crate) enum Events {}

impl PartialSchema for Events {
    fn schema() -> RefOr<Schema> {
        RefOr::T(Schema::Object(ObjectBuilder::new().schema_type(Type::String).build()))
    }
}

impl utoipa::ToSchema for Events {}
