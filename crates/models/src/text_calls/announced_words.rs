//! Words by which models announce what they do now, in the languages they do it in. In lower case
//! without marks; divided by bars.

/// Where what is done stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Right behind who does it.
    Behind,
    /// Anywhere behind that: these languages put it at the end, or nearly.
    Within,
    /// At the very end.
    Last,
}

/// One way to say in the first person that something is done.
pub struct Way {
    /// Who does it; empty where the verb says that.
    pub who: &'static str,
    /// What may stand between that and what is done.
    pub between: &'static str,
    pub does: &'static str,
    pub place: Place,
}

/// What may stand before an announcement in the same sentence.
pub const LEADS: &str = "sure|okay|ok|alright|of course|certainly|great|good|thanks|thank you|yes|\
    first|next|now|then|so|and|also|finally|to begin|to start|got it|understood|absolutely|gut|klar|\
    gerne|natürlich|zuerst|jetzt|nun|dann|bien sûr|d accord|d abord|claro|primero|ahora|por supuesto|\
    certo|certamente|prima|agora|natuurlijk|хорошо|конечно|oczywiście|dobrze|tamam|elbette|حسنا|\
    حسنًا|حسناً|بالتأكيد|نعم|أولا|أولًا|أولاً|الآن|好的|好|当然|當然|没问题|首先";

/// What is done in English by whoever makes a call. Not what is done with words: `explain`, `quote`,
/// `answer`; nor what is left undone or left to others: `wait`, `skip`, `ask`, `let`.
const DOES: &str = "write|rewrite|overwrite|create|make|build|generate|save|store|record|log|add|append|\
    insert|put|place|set|apply|update|change|modify|edit|patch|replace|fix|rename|move|copy|delete|\
    remove|clear|empty|read|reread|load|open|view|see|look|check|double check|verify|confirm|validate|\
    inspect|examine|analyze|analyse|explore|investigate|review|scan|identify|determine|figure out|\
    find|search|list|count|calculate|compute|compare|measure|get|fetch|retrieve|grab|pull|gather|\
    collect|query|access|browse|visit|navigate|download|go ahead|go to|run|rerun|execute|perform|\
    invoke|call|use|utilize|utilise|employ|apply|launch|start|restart|install|compile|deploy|test|try|\
    retry|re run|re read|do|complete|finish|implement|initialize|prepare|plan|schedule|track|mark|\
    convert|sort|filter|extract|parse|format|merge|split|clean|commit|note|remember|memorize|\
    forget that|keep track|keep that|keep it in|keep this in|recall|remind|delegate|spawn|assign|\
    send the|send it|send a|send that|consult|proceed|continue|begin|take a|take another|have a look|\
    take care of|handle that|handle this|handle it|help you with that|help you with this|\
    help with that|stop the process|stop the server|stop it|kill the|kill it|wait for it|\
    wait for the process|wait for the command|correct that|correct it|correct the path|correct my|\
    resolve|dig|set up|activate|ask a sub agent|\
    ask a subagent|ask a helper|tell them|tell him|tell her|\
    message them|notify";
/// The same as it is said of the present: `I see` and `I get` tell something.
const DOES_NOW: &str = "start|begin|write|read|create|make|list|search|look|call|use|run|check|open|save|\
    add|fetch|note|remember|remove|delete|change|edit|update|append|rename|move|copy|execute";
/// The same as it is going on.
const IS_DOING: &str = "writing|creating|making|saving|storing|adding|appending|updating|changing|\
    editing|patching|replacing|fixing|renaming|moving|deleting|removing|reading|loading|opening|\
    viewing|looking|checking|verifying|inspecting|searching|finding|listing|counting|getting|fetching|\
    retrieving|running|executing|performing|invoking|calling|using|starting|testing|trying|doing";

/// What may stand between in English.
const BETWEEN: &str = "now|first|just|quickly|then|also|simply|next|immediately|directly|carefully|again|\
    go ahead and|try to|try|try and|start by|begin by|start|proceed to|continue to|continue by|\
    proceed with|need to|have to|be|briefly|once more|get started by|to|and";

/// All ways. One that names nobody is of a language whose verbs say who does it.
pub const WAYS: &[Way] = &[
    Way {
        who: "i ll|i will|i m going to|i am going to|i m now going to|i am now going to|let me|let s|\
            i need to|i have to|i want to|i should first|i now|i should now",
        between: BETWEEN,
        does: DOES,
        place: Place::Behind,
    },
    Way {
        who: "i ll|i will|let me|i ll be|i will be|i m now|i am now|let me try|i ll try|let me start by|\
            i ll start by|i will start by|i ll begin by|i will begin by|let me begin by|let s start by",
        between: BETWEEN,
        does: IS_DOING,
        place: Place::Behind,
    },
    Way { who: "i", between: "now|first|then|just|also", does: DOES_NOW, place: Place::Behind },
    Way {
        who: "ich",
        between: "jetzt|nun|zuerst|dann|also|mal|es|sie|ihn|das",
        does: "lege|lese|schreibe|suche|rufe|sehe|schaue|prüfe|starte|führe|hole|öffne|merke|erstelle|\
            speichere|lösche|entferne|ändere|verwende|nutze|benutze|füge|kopiere|verschiebe|beginne|\
            mache|überprüfe|zähle|lade",
        place: Place::Behind,
    },
    Way {
        who: "",
        between: "",
        does: "lege ich|lese ich|schreibe ich|suche ich|rufe ich|sehe ich|schaue ich|prüfe ich|\
            starte ich|führe ich|hole ich|öffne ich|erstelle ich|speichere ich|lösche ich|\
            verwende ich|nutze ich",
        place: Place::Behind,
    },
    Way {
        who: "ich werde|ich muss|ich will|ich möchte|lass mich|lassen sie mich",
        between: "",
        does: "schreiben|erstellen|anlegen|lesen|suchen|aufrufen|ausführen|prüfen|überprüfen|nachsehen|\
            nachschauen|ansehen|anschauen|öffnen|speichern|löschen|entfernen|ändern|verwenden|nutzen|\
            benutzen|hinzufügen|holen|laden|starten|machen|merken|sehen|schauen|tun|helfen",
        place: Place::Within,
    },
    Way {
        who: "je vais|laisse moi|laissez moi|je dois",
        between: "d abord|maintenant|donc|le|la|l|les|tout de suite|aussi|y",
        does: "lire|écrire|créer|exécuter|lancer|utiliser|appeler|chercher|rechercher|enregistrer|\
            sauvegarder|ouvrir|vérifier|regarder|lister|ajouter|supprimer|modifier|consulter|voir|\
            faire|commencer|mettre|récupérer|examiner",
        place: Place::Behind,
    },
    Way {
        who: "je",
        between: "le|la|l|les",
        does: "crée|lis|écris|lance|cherche|ouvre|enregistre|vérifie|regarde|utilise|appelle|ajoute|\
            supprime|modifie|commence",
        place: Place::Behind,
    },
    Way {
        who: "voy a|déjame|déjeme|permíteme|necesito",
        between: "ahora|primero|a|lo|la",
        does: "crear|escribir|leer|buscar|ejecutar|abrir|guardar|revisar|verificar|comprobar|usar|\
            utilizar|llamar|añadir|agregar|eliminar|borrar|modificar|consultar|ver|mirar|hacer|hacerlo|\
            crearlo|leerlo|listar|empezar|obtener",
        place: Place::Behind,
    },
    Way {
        who: "vado a|lascia che|lasciami|fammi",
        between: "ora|prima|a",
        does: "creare|scrivere|leggere|cercare|eseguire|aprire|salvare|controllare|verificare|usare|\
            chiamare|aggiungere|eliminare|modificare|vedere|fare|crearlo|leggerlo",
        place: Place::Behind,
    },
    Way {
        who: "",
        between: "ora|adesso|prima|lo|la",
        does: "scrivo|leggo|cerco|eseguo|apro|salvo|controllo|verifico|aggiungo|creo il|creo la|creo un|\
            elimino",
        place: Place::Behind,
    },
    Way {
        who: "vou|deixe me|deixa me|preciso",
        between: "agora|primeiro|o|a",
        does: "criar|escrever|ler|buscar|procurar|pesquisar|executar|rodar|abrir|salvar|guardar|verificar|\
            checar|usar|utilizar|chamar|adicionar|remover|apagar|excluir|modificar|consultar|ver|olhar|\
            fazer|listar|começar|obter",
        place: Place::Behind,
    },
    Way {
        who: "ik ga|ik zal|laat me|laat mij",
        between: "",
        does: "schrijven|lezen|maken|aanmaken|zoeken|opzoeken|uitvoeren|openen|opslaan|bewaren|\
            controleren|kijken|bekijken|nakijken|gebruiken|aanroepen|toevoegen|verwijderen|wijzigen|doen|\
            starten|ophalen",
        place: Place::Within,
    },
    Way {
        who: "ik",
        between: "nu|eerst|even",
        does: "schrijf|lees|maak|zoek|voer|open|sla|bewaar|controleer|bekijk|gebruik|voeg|verwijder|kijk",
        place: Place::Behind,
    },
    Way {
        who: "jag ska|låt mig|jag måste",
        between: "nu|först|bara",
        does: "skriva|läsa|skapa|köra|söka|öppna|spara|kontrollera|kolla|titta|använda|anropa|lägga|ta bort|\
            ändra|göra|hämta|se",
        place: Place::Behind,
    },
    Way {
        who: "",
        between: "я|сейчас|теперь|сначала|давайте|давай|тогда|позвольте|мне|его|её|это",
        does: "создам|создаю|запишу|записываю|напишу|пишу|прочитаю|прочту|читаю|проверю|проверяю|посмотрю|\
            смотрю|найду|поищу|ищу|запущу|запускаю|выполню|выполняю|открою|открываю|сохраню|сохраняю|\
            вызову|вызываю|использую|добавлю|добавляю|удалю|удаляю|изменю|обновлю|сделаю|запомню|получу|\
            создадим|посмотрим|прочитаем|проверим|запустим|запишем|найдём|сделаем",
        place: Place::Behind,
    },
    Way {
        who: "",
        between: "teraz|najpierw|zaraz|już|pozwól|że|to|ja|więc",
        does: "zapisuję|zapiszę|tworzę|utworzę|stworzę|czytam|przeczytam|odczytam|odczytuję|piszę|napiszę|\
            sprawdzam|sprawdzę|otwieram|otworzę|uruchamiam|uruchomię|wykonuję|wykonam|szukam|wyszukam|\
            poszukam|używam|użyję|wywołuję|wywołam|dodaję|dodam|usuwam|usunę|zmieniam|zmienię|zrobię",
        place: Place::Behind,
    },
    Way {
        who: "",
        between: "",
        does: "yazıyorum|yazacağım|yazayım|oluşturuyorum|oluşturacağım|oluşturayım|okuyorum|okuyacağım|\
            okuyayım|çalıştırıyorum|çalıştıracağım|arıyorum|arayacağım|kaydediyorum|kaydedeceğim|\
            kontrol ediyorum|kontrol edeceğim|kontrol edeyim|açıyorum|açacağım|siliyorum|sileceğim|\
            ekliyorum|ekleyeceğim|kullanıyorum|kullanacağım|çağırıyorum|çağıracağım|bakıyorum|bakacağım|\
            bakayım|listeliyorum",
        place: Place::Last,
    },
    Way {
        who: "",
        between: "الآن|أولا|دعني",
        does: "سأكتب|سأنشئ|سأقرأ|سأنفذ|سأشغل|سأستخدم|سأستدعي|سأبحث|سأحفظ|سأفتح|سأتحقق|سأضيف|سأحذف|سأعدل|\
            سأقوم بإنشاء|سأقوم بكتابة|سأقوم بقراءة|سأقوم بتشغيل|سأقوم بتنفيذ|سأقوم بحفظ|سأقوم بالبحث|\
            سأقوم بفتح|سأقوم بإضافة|سأقوم بحذف|أتحقق|أقرأ|أبحث",
        place: Place::Behind,
    },
];

/// Words before a verb by which it is only named: `zu schreiben`.
pub const NAMED_BY: &str = "zu|te";

/// The same where the verb ends the sentence and its words are not always divided: its stem, and
/// what follows that. Written without blanks.
pub const ENDINGS: &[(&str, &str)] = &[
    (
        "作成し|作り|書き|書き込み|読み|読み込み|読み取り|確認し|実行し|検索し|保存し|開き|調べ|探し|見|\
            呼び出し|使い|使用し|追加し|削除し|更新し|変更し|取得し|始め|試し|記録し|覚え",
        "ます|ますね|ましょう|てみます|てみましょう|ておきます",
    ),
    (
        "작성|생성|저장|확인|실행|검색|호출|사용|추가|삭제|수정|변경|시작|조회",
        "하겠습니다|합니다|할게요|해보겠습니다|해볼게요",
    ),
    ("만들|읽|쓰|열|찾", "겠습니다|을게요|게요"),
    ("만들어|읽어|써|열어|찾아|살펴", "보겠습니다|볼게요"),
    (
        "लिख|बना|पढ|चला|खोज|सहेज|देख|खोल|जोड|हटा|ढूँढ|कर",
        "ताहूँ|तीहूँ|ताहूं|तीहूं|रहाहूँ|रहीहूँ|रहाहूं|रहीहूं|ूँगा|ूँगी|ूंगा|ूंगी|ऊँगा|ऊँगी|ऊंगा|ऊंगी",
    ),
];

/// Who does it in Chinese, and what is done a few characters behind that.
pub const WHO_UNSPACED: &str =
    "我来|我來|我將|我将|我会|我會|让我|讓我|我先|我现在|我現在|我需要|我这就|我帮";
pub const DOES_UNSPACED: &str = "创建|創建|建立|新建|写|寫|读|讀|看|查|检|檢|运行|運行|执行|執行|调用|調用|使用|\
    搜|找|保存|存|打开|打開|添加|加|删除|刪除|移除|修改|更新|列出|获取|獲取|试|試|做|记|記|下载|安装|帮|\
    处理|處理|完成|生成|启动|啟動|開始|开始";
/// How many characters may stand between the two.
pub const WITHIN_CHARS: usize = 12;

/// Words after which it is not done, or not now, or by somebody else.
pub const NOT: &str = "not|never|no|don t|won t|can t|cannot|couldn t|didn t|shouldn t|wouldn t|nothing|\
    only|instead|explain|describe|demonstrate|illustrate|walk you|tell you|show you|remind|warn|refuse|avoid|\
    pretend|imagine|say|quote|repeat|print|show|assume|they|he|she|attacker|\
    yourself|paste|recite|reproduce|transcribe|cite|retype|illustrated|documentation of|\
    saying|explaining|telling|nobody|no one|somebody|someone|anybody|anyone|and let|them to|him to|her to|so you can|so that you|for you to|\
    check with|confirm with|verify with|see to it|from running|from being|from writing|from happening|\
    would|mark this as|review this|analyze this|analyse this|examine this|inspect this|validate this|\
    parse this|format this|compare this|convert this|extract this|without|later|unless|until|once you|once the|when you|when the|after you|after the|\
    as soon|if you agree|if you say|if you confirm|if you allow|\
    permission|approval|approve|safe|unsafe|allowed|suspicious|malicious|dangerous|\
    harmful|write you|read you|make you|send you|run you|take you|list you|get you to|run through|\
    read out|read aloud|read back|note that|list what|write what|see what you|as a template|\
    as a snippet|as a sample|as a reference|as a model|put this|in the docs|from the docs|\
    following line|following text|following words|following sentence|following message|\
    following instruction|following paragraph|following quote|the other agent|another agent to|\
    nicht|kein|keine|nie|erkläre|zeige|warten|verzichten|ablehnen|weigern|falls|sobald|bis du|dich|\
    pas|jamais|abstenir|te laisser|attendre|nunca|non|mai|niet|wachten|inte|не|никогда|если|когда|nie|\
    jeśli|değil|eğer|لن|لا|إذا|بدون";
/// The same in scripts that put no blanks between words, or marks among their letters.
pub const NOT_UNSPACED: &str = "不|别|別|等你|等您|等用户|如果|拒绝|拒絕|解释|解釋|说明|說明|引用|重复|翻译|展示|\
    演示|假设|让你|让您|请你|由你|避免|之后再|的调用|这个调用|もし|たら|なら|ません|控え|않|नहीं|मत|अगर";

/// What may lead to that in the same sentence: "To list them I'll …", "Based on your request, I …".
pub const FOR_WHAT: &str = "to|based on your|according to your|as requested|as you|per your|\
    following your|for this|for that|since you|um";

/// A call as a thing that is spoken of.
pub const SPOKEN_OF: &str = "json|the call|a call|this call|that call|your call|calls|call that|tool call|\
    function call|s call|invocation|payload|snippet|following call|call below|der aufruf|den aufruf|\
    aufruf|aufrufs|l appel|la llamada|la chiamata|a chamada|de aanroep|вызов";

/// What is done with it by who makes it; `save the JSON` and `a JSON file` are about files.
pub const DONE_WITH: &str = "make|making|made the|run|running|execute|executing|issue|issuing|use|using|\
    invoke|perform|send the|call the|call this|call a|calling|do|save|create|read|open|load|parse|\
    fetch|validate|format|convert|json file|json files|json data|json config|json document|mache|\
    führe|starte|fais|hago|faccio|faço";

/// How a sentence of few words begins that announces by what is being done: "Calling `todo`:".
pub const DOING: &str = "calling|reading|writing|creating|running|using|listing|searching|checking|opening|\
    executing|invoking|fetching|looking|saving|adding|deleting|removing|updating|loading";

/// What such a sentence has that says something of it instead.
pub const SAYS: &str = "is|are|was|were|works|work|would|looks|look|like|can|could|should|requires|needs|\
    means|has|have|takes|returns|gives|says|i|you|we|one|found|this way|so|as|how|example|examples|\
    docs|manual|page|syntax|format|json|call|calls";

/// Of what comes before the announcement, what says that it is somebody else's.
pub const TOLD_BEFORE: &str = "following is|following was|following are|what follows|assistant|transcript|\
    in the log|the log says|conversation below|quoting";
