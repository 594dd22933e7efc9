use cap_std::fs::Dir;
use palisade_agent::{Origin, instructions};
use tempfile::TempDir;

use super::*;
use crate::{
    Places, Registry, Trust, available,
    definition::{Presence, Source, parse_markdown},
    effective, surroundings,
};

/// A home, a workspace and a folder of plugins.
pub(crate) struct Stage {
    root: TempDir,
    pub(crate) dir: Dir,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let dir = Dir::open_ambient_dir(root.path(), cap_std::ambient_authority()).unwrap();
        ["home", "work", "plugins"].iter().for_each(|folder| dir.create_dir(folder).unwrap());
        Self { root, dir }
    }

    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) -> &Self {
        self.dir.create_dir_all(path.rsplit_once('/').unwrap().0).unwrap();
        self.dir.write(path, text).unwrap();
        self
    }

    /// A skill whose text is where it was written.
    pub(crate) fn skill(&self, folder: &str) -> &Self {
        let name = folder.rsplit('/').next().unwrap();
        self.write(
            &format!("{folder}/SKILL.md"),
            format!("---\nname: {name}\ndescription: About {name}.\n---\nRead {folder}.\n"),
        )
    }

    pub(crate) fn plugin(&self, name: &str) -> &Self {
        self.write(&format!("plugins/{name}/plugin.json"), json!({ "name": name, "version": "1.0.0" }).to_string())
    }

    pub(crate) fn places(&self) -> Places {
        let at = |path: &str| self.root.path().join(path);
        Places {
            config: Some(at("config.json")).filter(|file| file.exists()),
            user: vec![at("home/.palisade/agents"), at("home/.palisade/subagents")],
            home: Some(at("home")),
            workspace: Some(at("work")),
            plugins_dir: Some(at("plugins")),
            trust: Some(at("trust.json")),
            ..Places::default()
        }
    }

    pub(crate) fn load(&self) -> Registry {
        Registry::load(&self.places(), &["read", "bash"]).unwrap()
    }

    /// Trusts all skills of the project as they are.
    pub(crate) fn trust_all(&self) -> &Self {
        let file = self.root.path().join("trust.json");
        let mut trust = Trust::load(&file);
        for file in self.load().skills().entries().filter_map(|found| found.project.as_ref()) {
            trust.trust_digest(&file.workspace, &file.relative, &file.digest);
        }
        trust.save(&file).unwrap();
        self
    }

    pub(crate) fn effective(&self, settings: &str) -> (Effective, Registry) {
        let registry = self.load();
        let text = format!("---\nname: a\ndescription: b\n{settings}---\nWork.\n");
        let (origin, description) = (Origin::default(), Presence::Required);
        let source = Source { file: "a.md", origin, fallback_name: None, required_name: None, description };
        let agent = parse_markdown(text.as_bytes(), &source).unwrap().agent;
        (effective(&agent, &available(&registry), &registry), registry)
    }

    pub(crate) fn own(&self, settings: &str) -> OwnSkills {
        let (effective, registry) = self.effective(settings);
        skills_of(&effective, &registry.skills())
    }

    fn prompt(&self, settings: &str) -> String {
        let (effective, registry) = self.effective(settings);
        let around = surroundings(&effective, &registry, &self.root.path().join("work"));
        instructions(&effective.agent, &[], &around, "go")
    }
}

fn names(skills: &[OwnSkill]) -> Vec<&str> {
    skills.iter().map(|own| own.name.as_str()).collect()
}

fn reason<'a>(own: &'a OwnSkills, name: &str) -> &'a str {
    own.excluded.iter().find(|excluded| excluded.name == name).map_or("", |excluded| &excluded.reason)
}

/// Three skills: of the user, of a trusted project, of a plugin.
fn three() -> Stage {
    let stage = Stage::new();
    stage.skill("home/.palisade/skills/mine").skill("work/.claude/skills/theirs");
    stage.plugin("notes").skill("plugins/notes/skills/jot").trust_all();
    stage
}

/// M4, N7
#[test]
fn named_skills_are_in_the_prompt_and_the_others_can_be_read() {
    let stage = three();
    let own = stage.own("skills: [mine]\n");
    assert_eq!((names(&own.known), names(&own.readable)), (vec!["mine"], vec!["jot", "theirs"]));
    assert_eq!(own.readable[1].path.as_deref(), Some(".claude/skills/theirs/SKILL.md"));
    assert!(own.excluded.is_empty() && own.warnings.is_empty(), "{own:?}");
    let prompt = stage.prompt("skills: [mine]\n");
    assert!(prompt.contains("### mine\n\nRead home/.palisade/skills/mine."), "{prompt}");
    assert!(
        prompt.contains("- jot: About jot.\n- theirs: About theirs. (`.claude/skills/theirs/SKILL.md`)"),
        "{prompt}"
    );
    assert!(!prompt.contains("Read work/.claude") && !prompt.contains("Read plugins/"), "{prompt}");
}

/// M14: there is no cache.
#[test]
fn skills_are_read_anew_for_each_run() {
    let stage = Stage::new();
    let (effective, registry) = stage.effective("skills: [late]\n");
    assert!(skills_of(&effective, &registry.skills()).known.is_empty());
    stage.skill("home/.palisade/skills/late");
    assert_eq!(names(&skills_of(&effective, &registry.skills()).known), ["late"]);
    stage.write("home/.palisade/skills/late/SKILL.md", "---\nname: late\ndescription: d\n---\nNew.\n");
    assert_eq!(skills_of(&effective, &registry.skills()).known[0].skill.text, "New.");
}

/// B18, D18, N4
#[test]
fn lists_match_the_ids_of_plugins_and_deny_after_allow() {
    let stage = three();
    stage.skill("plugins/notes/skills/file").plugin("ops").skill("plugins/ops/skills/deploy");
    let readable = |settings: &str| names(&stage.own(settings).readable).join(" ");
    assert_eq!(readable("skill_allowlist: [notes]\n"), "file jot");
    assert_eq!(readable("skill_allowlist: ['*']\nskill_denylist: [notes]\n"), "deploy mine theirs");
    assert_eq!(readable("skill_allowlist: [notes, mine]\nskill_denylist: [notes/file]\n"), "jot mine");
    assert_eq!(readable("skill_allowlist: []\n"), "");
    // The lists hold for what a definition names itself, too.
    let own = stage.own("skills: [jot]\nskill_denylist: ['n*']\n");
    assert!(own.known.is_empty(), "{own:?}");
    assert_eq!(own.warnings, ["the skill `jot` is left out: denied by `skill_denylist`"]);
    assert_eq!(own.excluded[1].rule.as_deref(), Some("n*"));
}

/// N7, F8
#[test]
fn rules_about_skills_hold_for_what_is_read_and_for_what_is_given() {
    let stage = three();
    let own = stage.own("disallowed_tools: ['Skill(theirs)', 'Skill(notes/*)']\nskills: [jot]\n");
    assert_eq!((names(&own.known), names(&own.readable)), (vec![], vec!["mine"]));
    assert_eq!(reason(&own, "theirs"), "denied by `Skill(theirs)`");
    assert_eq!(own.warnings, ["the skill `jot` is left out: denied by `Skill(notes/*)`"]);
    let own = stage.own("tools: [Read, 'Skill(mine)']\n");
    assert_eq!(names(&own.readable), ["mine"]);
    assert!(reason(&own, "jot").contains("no allow rule covers `jot`"), "{own:?}");
    let own = stage.own("disallowed_tools: [Skill]\nskills: [mine]\n");
    assert!(own.is_empty(), "{own:?}");
}

#[test]
fn without_the_tool_only_files_of_the_workspace_can_be_read() {
    let stage = three();
    let own = stage.own("tools: [Read]\nskills: [mine]\n");
    assert_eq!((names(&own.known), names(&own.readable)), (vec!["mine"], vec!["theirs"]));
    assert!(reason(&own, "jot").contains("no tool `skill` to read it with"), "{own:?}");
    let own = stage.own("tools: [Think]\n");
    assert_eq!(reason(&own, "theirs"), "the agent has no tool that reads its file");
    let own = stage.own("tools: ['Read(src/**)']\n");
    assert!(own.readable.is_empty(), "{own:?}");
}

#[test]
fn what_an_agent_may_not_read_does_not_reach_it_as_a_skill() {
    let stage = three();
    let hidden = "skills: [theirs]\npermissions: { deny: ['Read(.claude/**)'] }\n";
    let elsewhere = "skills: [theirs]\ngrants: { files: { src: read } }\n";
    for settings in [hidden, elsewhere] {
        let own = stage.own(settings);
        assert!(own.known.is_empty() && !names(&own.readable).contains(&"theirs"), "{own:?}");
        assert!(own.warnings[0].contains("the agent may not read `.claude/skills/theirs/SKILL.md`"), "{own:?}");
        assert!(!stage.prompt(settings).contains("theirs"));
    }
}

#[test]
fn an_unknown_name_is_told_with_what_was_probably_meant() {
    let own = three().own("skills: [miine, nothing, notes:jot, notes/jot]\n");
    assert_eq!(names(&own.known), ["notes:jot"]);
    assert_eq!(
        own.warnings,
        [
            "the skill `miine` is left out: there is no skill `miine`; did you mean `mine`?",
            "the skill `nothing` is left out: there is no skill `nothing`"
        ]
    );
}

#[test]
fn a_skill_that_is_for_people_only_is_not_given_to_a_model() {
    let stage = Stage::new();
    let text = "---\nname: ship\ndescription: d\ndisable-model-invocation: true\n---\nShip.\n";
    stage.write("home/.palisade/skills/ship/SKILL.md", text);
    let own = stage.own("skills: [ship]\n");
    assert!(own.is_empty() && reason(&own, "ship").contains("disable-model-invocation"), "{own:?}");
}

/// A plugin with a native tool and a skill about it, in the hands of an agent.
fn plugged(stage: &Stage, settings: &str) -> (Effective, palisade_agent::Surroundings) {
    let tools = json!([
        { "name": "shout", "description": "Shouts.", "command": "sh", "args": ["shout.sh"] },
        { "name": "whisper", "description": "Whispers.", "command": "sh", "args": ["whisper.sh"] },
    ]);
    let manifest = json!({ "name": "voices", "version": "1.0.0", "tools": tools });
    stage.write("plugins/voices/plugin.json", manifest.to_string()).skill("plugins/voices/skills/shout");
    let (before, mut registry) = stage.effective(settings);
    let allowed = ["sh:*".parse().unwrap()].into_iter().collect();
    registry.allow_programs(allowed, palisade_sandbox::Programs::standard("/nowhere".into()));
    let effective = effective(&before.agent, &available(&registry), &registry);
    let around = surroundings(&effective, &registry, &stage.root.path().join("work"));
    (effective, around)
}

/// B20, M6, N1, N2, N3, N5, N8, CF-30
#[test]
fn tools_of_plugins_are_commands_for_who_wants_them_so_and_for_no_other() {
    let stage = Stage::new();
    let commands = |settings: &str| {
        let (effective, around) = plugged(&stage, settings);
        let shown: Vec<String> = effective
            .tools
            .iter()
            .filter(|tool| tool.command.is_some() && effective.is_shown(tool))
            .map(|tool| tool.candidate.name().to_owned())
            .collect();
        let told: Vec<(String, String)> =
            around.skills.into_iter().map(|skill| (skill.command.unwrap(), skill.path)).collect();
        (shown, told)
    };
    let pair = |name: &str, path: &str| (name.to_owned(), path.to_owned());
    let both = [pair("shout", "shout/SKILL.md"), pair("whisper", "whisper --help")];
    assert_eq!(commands("").1, []);
    assert_eq!(commands("tool_exposure: skills\n"), (vec![], both.to_vec()));
    assert_eq!(commands("tool_exposure: mixed\n"), (vec!["shout".to_owned(), "whisper".to_owned()], both.to_vec()));
    // What is denied as a tool is no command either, and lists are about plugins.
    let denied = "tool_exposure: skills\npermissions: { deny: [whisper] }\n";
    assert_eq!(commands(denied).1, [pair("shout", "shout/SKILL.md")]);
    assert_eq!(commands("tool_exposure: skills\nskill_denylist: [voices]\n").1, []);
    assert_eq!(commands("tool_exposure: skills\nskill_allowlist: [other]\n").1, []);
}

/// N2. Where there is no shell there are no commands, and it is said.
#[test]
fn commands_without_a_shell_are_warned_about() {
    let stage = Stage::new();
    let settings = "tool_exposure: skills\ntools: [read, shout]\n";
    let (effective, around) = plugged(&stage, settings);
    assert!(around.skills.is_empty());
    let warned = |text: &str| effective.warnings.iter().any(|warning| warning.contains(text));
    assert!(warned("commands of `bash`, which it has not; it has none of them"), "{:?}", effective.warnings);
}
